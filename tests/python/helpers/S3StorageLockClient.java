package org.apache.hudi.aws.transaction.lock;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.hudi.client.transaction.lock.StorageBasedLockProvider;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * Hudi's own {@code StorageBasedLockProvider} as a program, with a client of S3 under the name of the class that Hudi
 * has in another jar. Arguments: the server's URL, the table's path. For each line of its input, {@code try} or {@code
 * unlock}, it prints one.
 */
public final class S3StorageLockClient implements StorageLockClient {

  private final S3Client s3 =
      S3Client.builder()
          .endpointOverride(URI.create(System.getProperty("s3.url")))
          .forcePathStyle(true)
          .region(Region.US_EAST_1)
          .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
          .build();

  private final String bucket;
  private final String key;

  public S3StorageLockClient(String owner, String file, Properties properties) {
    Pair<String, String> place = StorageLockClient.parseBucketAndPath(file);
    bucket = place.getLeft();
    key = place.getRight();
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    try {
      ResponseBytes<GetObjectResponse> found = s3.getObjectAsBytes(request -> request.bucket(bucket).key(key));
      StorageLockFile file =
          StorageLockFile.createFromStream(
              new ByteArrayInputStream(found.asByteArray()), found.response().eTag());
      return Pair.of(LockGetResult.SUCCESS, Option.of(file));
    } catch (NoSuchKeyException e) {
      return Pair.of(LockGetResult.NOT_EXISTS, Option.empty());
    }
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> previous) {
    PutObjectRequest.Builder request = PutObjectRequest.builder().bucket(bucket).key(key);
    if (previous.isPresent()) {
      request.ifMatch(previous.get().getVersionId());
    } else {
      request.ifNoneMatch("*");
    }
    try {
      String tag = s3.putObject(request.build(), RequestBody.fromBytes(StorageLockFile.toByteArray(data))).eTag();
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(data, tag)));
    } catch (S3Exception e) {
      LockUpsertResult result =
          e.statusCode() == 412 ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR;
      return Pair.of(result, Option.empty());
    }
  }

  @Override
  public Option<String> readObject(String file, boolean checksFirst) {
    return Option.empty();
  }

  @Override
  public boolean writeObject(String file, String content) {
    return false;
  }

  @Override
  public void close() {
    s3.close();
  }

  public static void main(String[] words) throws Exception {
    System.setProperty("s3.url", words[0]);
    TypedProperties properties = new TypedProperties();
    properties.setProperty("hoodie.base.path", words[1]);
    properties.setProperty("hoodie.write.lock.storage.validity.timeout.secs", "10");
    properties.setProperty("hoodie.write.lock.storage.renew.interval.secs", "1");
    properties.setProperty("hoodie.write.lock.storage.heartbeat.poll.secs", "1");
    StorageBasedLockProvider provider = new StorageBasedLockProvider(new LockConfiguration(properties), null);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals("try")) {
        System.out.println(provider.tryLock(300, TimeUnit.MILLISECONDS) ? "held" : "refused");
      } else {
        provider.unlock();
        System.out.println("released");
      }
    }
    System.exit(0);
  }
}
