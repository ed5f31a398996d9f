"""Names of the options that most tests of frames give, and the two types of tables."""

COW = "COPY_ON_WRITE"
MOR = "MERGE_ON_READ"

KEY = "hoodie.datasource.write.recordkey.field"
ORDERING = "hoodie.table.ordering.fields"
PARTITION = "hoodie.datasource.write.partitionpath.field"
TYPE = "hoodie.datasource.write.table.type"
OPERATION = "hoodie.datasource.write.operation"
INDEX = "hoodie.index.type"
BUCKETS = "hoodie.bucket.index.num.buckets"
