rule report:
    input:
        cells=cell_files(),
        metrics=block_files("verify", "metrics.parquet"),
        alpha=block_files("alpha", "alpha.parquet"),
    output:
        report_files(),
    log:
        str(Path(RUN.results) / "report" / "log.txt"),
    params:
        plan=report_plan(),
        code=code_hash("sifu.stages.report"),
    shell:
        "{PY:q} -m sifu report --plan {params.plan:q}" + LOGGED
