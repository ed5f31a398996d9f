"""Other engines, driven from our tests: the real Apache Hudi in a process of its own, and hudi-rs."""
