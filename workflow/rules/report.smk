rule report:
    input:
        TARGETS.report_inputs,
        published_marks=str(PLAN.package / "report/published_marks.yaml"),
    output:
        TARGETS.report_files(),
    log:
        TARGETS.report_log("log.txt"),
    params:
        plan=TARGETS.report_plan,
        code=TARGETS.report_code,
    shell:
        "{PY:q} -m sifu report --plan {params.plan:q}" + LOGGED


rule figure:
    input:
        TARGETS.figure_inputs,
    output:
        TARGETS.figure_files("{figure}"),
    log:
        TARGETS.report_log("figures/{figure}.txt"),
    params:
        plan=TARGETS.figure_plan,
        code=TARGETS.figure_code,
    shell:
        "{PY:q} -m sifu figure {wildcards.figure} --plan {params.plan:q}" + LOGGED


rule page:
    input:
        tables=TARGETS.report_files(),
        figures=TARGETS.all_figures(),
        sources=TARGETS.planned("train/cells", "verify/verification"),
        template=str(PLAN.package / "report/page.html"),
    output:
        report(TARGETS.page_file, category="report"),
        narrow=TARGETS.narrow_picture,
    log:
        TARGETS.report_log("page.txt"),
    params:
        plan=TARGETS.report_plan,
        command=PLAN.command,
        code=TARGETS.page_code,
    shell:
        "{PY:q} -m sifu page --plan {params.plan:q} --command {params.command:q}"
        + LOGGED
