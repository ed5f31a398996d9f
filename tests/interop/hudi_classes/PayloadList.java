package shop;

import java.util.Collections;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.hudi.common.model.HoodieRecordPayload;

/** Prints the classes of a jar that are payloads, and their supertypes of that name. The argument is the jar's path. */
public class PayloadList {
  public static void main(String[] arguments) throws Exception {
    ClassLoader loader = PayloadList.class.getClassLoader();
    try (JarFile jar = new JarFile(arguments[0])) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        String name = entry.getName();
        if (name.matches("org/apache/(hudi|spark)/.*[.]class")) {
          try {
            Class<?> found = Class.forName(name.substring(0, name.length() - 6).replace('/', '.'), false, loader);
            boolean isPayload = HoodieRecordPayload.class.isAssignableFrom(found);
            if (!found.isInterface() && (isPayload || found.getSimpleName().endsWith("AvroPayload"))) {
              System.out.println(found.getName());
            }
          } catch (LinkageError needsOtherJars) {
            continue;
          }
        }
      }
    }
  }
}
