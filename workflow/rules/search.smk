from sifu.config.run import tried_scenario
from sifu.config.search import trials


rule search:
    input:
        partition=stage_path("partition", "partition.parquet"),
        history=search_history,
        data=dataset_files,
    output:
        stage_path("search", "search.parquet", "{variant}"),
    log:
        stage_path("search", "log.txt", "{variant}"),
    priority: 15  # some wait for it
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=stage_settings("search"),
        values=search_settings,
        code=stage_code("search"),
    shell:
        "{PY:q} -m sifu search --variant {wildcards.variant} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS


# values of a scenario's settings: nothing but the report reads what was found
wildcard_constraints:
    searched="|".join({name for _, name in SUITE.scenario_searches}) or "none",


def scenario_search_json(wildcards):
    search = SUITE.scenario_searches[wildcards.scenario, wildcards.searched]
    return json.dumps(to_plain(search), sort_keys=True)


def scenario_search_method(wildcards):
    """Who answers the request: a rule parameter, so that another variant searches again."""
    search = SUITE.scenario_searches[wildcards.scenario, wildcards.searched]
    return search.variant, SUITE.all_variants[search.variant]


def scenario_search_settings(wildcards):
    scenario = SUITE.scenarios[wildcards.scenario]
    method = method_of(*scenario_search_method(wildcards), scenario)
    settings = stages.relevant_settings("scenario_search", scenario, method)
    return json.dumps(settings, sort_keys=True)


def scenario_search_code(wildcards):
    """The hash of the code of all models that are tried, and of the method."""
    search = SUITE.scenario_searches[wildcards.scenario, wildcards.searched]
    scenario, (_, variant) = (
        SUITE.scenarios[search.scenario],
        scenario_search_method(wildcards),
    )
    names = set()
    for values in trials(search.grid).values():
        tried = tried_scenario(scenario, values, "grid")
        names.update(stages.stage_modules("scenario_search", tried, variant.method))
    return code_hash(*sorted(names))


rule scenario_search:
    input:
        partition=stage_path("partition", "partition.parquet"),
        data=dataset_files,
    output:
        stage_path("scenario_search", "scenario_search.parquet", "{searched}"),
    log:
        stage_path("scenario_search", "log.txt", "{searched}"),
    priority: 10  # long, and nobody waits
    threads: RUN.threads
    resources:
        gpu=USES_GPU,
    params:
        settings=scenario_search_settings,
        code=scenario_search_code,
        search=scenario_search_json,
    shell:
        "{PY:q} -m sifu scenario_search --search {params.search:q} "
        + BLOCK_OPTIONS
        + DEVICE_OPTIONS
