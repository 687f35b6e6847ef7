"""The archive on disk: Parquet files behind a commit log, and adapters."""
