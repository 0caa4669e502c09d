rule report:
    input:
        cells=cell_files(),
        metrics=block_files("verify", "metrics.parquet"),
        verification=block_files("verify", "verification.parquet"),
        alpha=block_files("alpha", "alpha.parquet") + alpha_sweep_files(),
        searches=search_files() + scenario_search_files(),
        other_methods=str(Path(workflow.basedir) / "sifu/report/other_methods.yaml"),
    output:
        table_files(),
    log:
        str(Path(RUN.results) / "report" / "log.txt"),
    params:
        plan=report_plan(),
        code=lambda _: code_hash("sifu.stages.report", *stages.method_modules()),
    shell:
        "{PY:q} -m sifu report --plan {params.plan:q}" + LOGGED


rule figure:
    input:
        figure_inputs,
    output:
        figure_files("{figure}"),
    log:
        str(Path(RUN.results) / "report" / "figures" / "{figure}.txt"),
    params:
        plan=figure_plan(),
        code=lambda wildcards: code_hash(
            "sifu.stages.figure", FIGURES[wildcards.figure]
        ),
    shell:
        "{PY:q} -m sifu figure {wildcards.figure} --plan {params.plan:q}" + LOGGED


rule page:
    input:
        tables=table_files(),
        figures=all_figures(),
        training=block_files("train", "cells.parquet"),
        verification=block_files("verify", "verification.parquet"),
        template=str(Path(workflow.basedir) / "sifu/report/page.html"),
    output:
        report(page_file(), category="report"),
    log:
        str(Path(RUN.results) / "report" / "page.txt"),
    params:
        plan=report_plan(),
        command=COMMAND,
        code=lambda _: code_hash("sifu.stages.page"),
    shell:
        "{PY:q} -m sifu page --plan {params.plan:q} --command {params.command:q}"
        + LOGGED
