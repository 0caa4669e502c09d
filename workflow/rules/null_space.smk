rule null_space:
    output:
        TARGETS.outputs("null_space"),
    log:
        TARGETS.log("null_space"),
    params:
        code=TARGETS.code("null_space"),
    shell:
        "{PY:q} -m sifu null_space --results {RUN.results:q}" + LOGGED
