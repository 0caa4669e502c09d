rule null_space:
    output:
        str(Path(RUN.results) / "null_space" / "null_space.parquet"),
    log:
        str(Path(RUN.results) / "null_space" / "log.txt"),
    params:
        code=code_hash("sifu.stages.null_space"),
    shell:
        "{PY:q} -m sifu null-space --results {RUN.results:q}" + LOGGED
