# Asks an engine with a Python interface. Reads {engine, catalog, token, jar, queries} from standard input as JSON, and
# prints a JSON list with the rows of each query, or with {"refused": why} for a query that the engine refuses.
# A query is SQL; pyiceberg has no SQL, so its queries are the members of Asked (sums.ts).

import hashlib
import json
import os
import sys


def answers(queries, ask):
    for query in queries:
        try:
            yield ask(query)
        except Exception as error:  # each engine has its own kinds
            yield {"refused": f"{type(error).__name__}: {error}"[:2000]}


def host(lake):
    return lake["endpoint"].split("//")[1]


def duckdb(asked):
    import duckdb as engine
    import duckdb_ext

    settings = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection = engine.connect(config=settings)
    folder = os.path.join(list(duckdb_ext.__path__)[0], "extensions", f"v{engine.__version__}")
    [platform] = os.listdir(folder)
    for name in ["avro", "httpfs", "iceberg"]:
        connection.execute(f"LOAD '{folder}/{platform}/{name}.duckdb_extension'")
    lake = asked["lake"]
    if lake is not None:
        connection.execute(
            f"CREATE SECRET lake (TYPE s3, KEY_ID '{lake['keyId']}', SECRET '{lake['secret']}', "
            f"REGION '{lake['region']}', ENDPOINT '{host(lake)}', URL_STYLE 'path', USE_SSL false)"
        )
    connection.execute(f"CREATE SECRET ketch (TYPE iceberg, TOKEN '{asked['token']}')")
    connection.execute(f"ATTACH 'ketch' AS ketch (TYPE iceberg, ENDPOINT '{asked['catalog']}', SECRET ketch)")
    return answers(asked["queries"], lambda sql: connection.execute(sql).fetchall())


def clickhouse(asked):
    from chdb.session import Session

    session = Session()
    session.query("SET allow_experimental_database_iceberg = 1")
    header = f"Authorization: Bearer {asked['token']}"
    lake = asked["lake"]
    keys = "" if lake is None else f", '{lake['keyId']}', '{lake['secret']}'"
    place = f"storage_endpoint = '{lake['endpoint']}/{lake['bucket']}'" if lake else "vended_credentials = false"
    session.query(
        f"CREATE DATABASE ketch ENGINE = DataLakeCatalog('{asked['catalog']}/v1'{keys}) "
        f"SETTINGS catalog_type = 'rest', warehouse = 'ketch', auth_header = '{header}', {place}"
    )
    return answers(asked["queries"], lambda sql: json.loads(str(session.query(sql, "JSONCompact")))["data"])


def spark(asked):
    from pyspark.sql import SparkSession

    catalog = "spark.sql.catalog.ketch"
    settings = {
        "spark.jars": ",".join(asked["jars"]),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "rest",
        f"{catalog}.uri": asked["catalog"],
        f"{catalog}.token": asked["token"],
    }
    lake = asked["lake"]
    if lake is not None:
        settings[f"{catalog}.io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        settings[f"{catalog}.s3.access-key-id"] = lake["keyId"]
        settings[f"{catalog}.s3.secret-access-key"] = lake["secret"]
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return answers(asked["queries"], lambda sql: [list(row) for row in session.sql(sql).collect()])


def pyiceberg(asked):
    from pyiceberg.catalog import load_catalog
    from pyiceberg.expressions import And, GreaterThanOrEqual, In, IsNull, LessThan, Or

    lake = asked["lake"]
    keys = {} if lake is None else {"s3.access-key-id": lake["keyId"], "s3.secret-access-key": lake["secret"]}
    catalog = load_catalog("ketch", type="rest", uri=asked["catalog"], token=asked["token"], **keys)
    md5 = lambda data: hashlib.md5(data).hexdigest()
    text = lambda data: "-" if data is None else md5(data)

    def header(each):
        return f"{md5(each['key'].encode())}:{text(each['value'])},"

    def sums(query):
        if "tables" in query:
            return [[name] for _, name in catalog.list_tables("default")]
        if "write" in query:
            return catalog.drop_table(("default", query["topic"]))
        table = catalog.load_table(("default", query["topic"]))
        condition = IsNull("control_type")
        if query.get("isCommitted"):
            condition = And(condition, Or(IsNull("txn_state"), In("txn_state", {1})))
        if "from" in query:
            condition = And(condition, GreaterThanOrEqual("offset", query["from"]))
        if "until" in query:
            condition = And(condition, LessThan("offset", query["until"]))
        columns = ("partition", "offset", "key", "value", "headers")
        found = {}
        for row in table.scan(row_filter=condition, selected_fields=columns).to_arrow().to_pylist():
            found.setdefault(row["partition"], []).append(row)
        rows = []
        for partition, records in sorted(found.items()):
            records.sort(key=lambda row: row["offset"])
            digest = lambda of: md5("".join(of(row) for row in records).encode())
            # pyiceberg 0.12 reads an absent list as an empty one. Kafka knows no difference.
            headers = lambda row: "".join(map(header, row["headers"])) if row["headers"] else "-"
            bounds = [len(records), records[0]["offset"], records[-1]["offset"]]
            digests = [digest(lambda row: text(row["key"])), digest(lambda row: text(row["value"])), digest(headers)]
            rows.append([partition, *bounds, *digests])
        return rows

    return answers(asked["queries"], sums)


asked = json.load(sys.stdin)
engines = {"duckdb": duckdb, "clickhouse": clickhouse, "spark": spark, "pyiceberg": pyiceberg}
found = list(engines[asked["engine"]](asked))
print("\n" + json.dumps(found))
