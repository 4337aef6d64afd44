"""Runs the tests of Karapace's REST API against any registry, without Karapace's server and without Kafka.

A plugin of pytest in place of the suite's own conftest files. Its fixtures give the tests the URL of the registry, and
modules of the server that only need to be importable are stand-ins. A test that asks for Karapace's Kafka topic or
starts its server is skipped.

The message of an error compares as equal to everything, so that a test goes on behind it. A test in which a message
differed is reported as failed, with both messages.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from dataclasses import dataclass
from urllib.parse import quote

import pytest
import pytest_asyncio
import requests
from jsonschema import Draft7Validator

URL = os.environ["REGISTRY_URL"]
OTHER_WORDS = "Only the message of an error differs:"

# Modules of the server, of its Kafka clients, and of what starts them.
STAND_INS = (
    "aiokafka",
    "confluent_kafka",
    "karapace.api.controller",
    "karapace.core.config",
    "karapace.core.kafka",
    "karapace.core.schema_models",
    "karapace.core.schema_reader",
    "karapace.rapu",
    "tests.integration.utils.cluster",
    "tests.integration.utils.kafka_server",
)


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ == "karapace.api.controller" and name == "SchemaErrorMessages":
            from karapace.api.routers.errors import SchemaErrorMessages

            return SchemaErrorMessages
        if self.__name__ == "karapace.core.schema_reader" and name == "SchemaType":
            from karapace.core.schema_type import SchemaType

            return SchemaType
        if name == "is_success":
            return lambda status: 200 <= status < 300
        if name == "parse_jsonschema_definition":
            return lambda text: Draft7Validator(json.loads(text))
        return type(name, (Exception,), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in STAND_INS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())


@dataclass(frozen=True)
class Endpoint:
    url: str

    def to_url(self):
        return self.url


@dataclass(frozen=True)
class Description:
    endpoint: Endpoint
    schemas_topic: str = "_schemas"


# The next registry that no test has used, for tests that know the ids.
fresh = iter(os.environ["FRESH_URLS"].split())
KNOWS_IDS = ("test_schema_listing", "test_protobuf_schema_references", "test_protobuf_schema_verifier")

other_words = []


class Message(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        if str.__eq__(self, other) is not True:
            other_words.append(f"{str(self)!r} where the test expects {other!r}")
        return True

    def __ne__(self, other):
        return not self == other

    def startswith(self, *args):
        if not str.startswith(self, *args):
            other_words.append(f"{str(self)!r} where the test expects {args[0]!r}")
        return True


def compare_loosely():
    from karapace.core.client import Result

    first = Result.__init__

    def init(self, status, json_result, headers=None):
        if isinstance(json_result, dict) and "error_code" in json_result:
            json_result["message"] = Message(json_result["message"])
        first(self, status, json_result, headers)

    Result.__init__ = init


compare_loosely()


def make_empty():
    """Deletes all subjects for good, those that others refer to last, and the global level."""
    for permanent in ("false", "true"):
        while names := requests.get(f"{URL}/subjects?deleted={permanent}", timeout=10).json():
            paths = [f"{URL}/subjects/{quote(name, safe='')}?permanent={permanent}" for name in names]
            if not any([requests.delete(path, timeout=10).ok for path in paths]):
                raise AssertionError(f"the subjects {names} cannot be deleted")
    requests.delete(f"{URL}/config", timeout=10)


@pytest.fixture
def registry_cluster(request):
    """Empties the registry, because the suite starts one for each test. Settings of Karapace have no counterpart."""
    other_words.clear()
    if request.node.originalname in KNOWS_IDS:
        return Description(Endpoint(next(fresh)))
    make_empty()
    return Description(Endpoint(URL))


@pytest_asyncio.fixture
async def registry_async_client(registry_cluster):
    from karapace.core.client import Client

    client = Client(server_uri=registry_cluster.endpoint.to_url())
    yield client
    await client.close()


@pytest.fixture
def kafka_servers():
    pytest.skip("It writes to Karapace's topic or starts Karapace's server.")


@pytest.fixture
def session_logdir(tmp_path):
    return tmp_path


def pytest_runtest_logreport(report):
    """Writes one line of JSON for each test into the file that REPORT names."""
    is_result = report.when == "call" or report.outcome != "passed"
    if not is_result:
        return
    message = report.longreprtext
    reason = [line[2:].strip() for line in message.splitlines() if line.startswith("E ")]
    name = report.nodeid.removeprefix("tests/integration/").replace("::", ": ", 1)
    has_other_words = report.outcome == "passed" and len(other_words) > 0
    detail = f"{OTHER_WORDS} {other_words[0]}" if has_other_words else " ".join(reason or message.splitlines()[-1:])
    line = {
        "name": name,
        "result": "failed" if has_other_words else report.outcome,
        "seconds": report.duration,
        "detail": detail[:600],
    }
    with open(os.environ["REPORT"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
