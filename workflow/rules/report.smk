rule report:
    input:
        cells=cell_files(),
        metrics=block_files("verify", "metrics.parquet"),
        alpha=block_files("alpha", "alpha.parquet"),
        searches=search_files(),
        null_space=str(Path(RUN.results) / "null_space" / "null_space.parquet"),
        other_methods=str(Path(workflow.basedir) / "sifu/report/other_methods.yaml"),
    output:
        report_files(),
    log:
        str(Path(RUN.results) / "report" / "log.txt"),
    params:
        plan=report_plan(),
        code=code_hash("sifu.stages.report", *stages.method_modules()),
    shell:
        "{PY:q} -m sifu report --plan {params.plan:q}" + LOGGED
