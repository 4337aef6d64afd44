# confluent-kafka and its serializers for driver.ts, which describes the requests: a line of JSON in, a line of JSON out.
# A user has a class that protoc made; here the class of Protobuf's messages comes from the descriptor.

import base64
import functools
import json
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

LONGEST_WAIT_S = 20


@functools.cache
def shared_registry(registry):
    return open_registry({'registry': json.loads(registry)})


def open_registry(request):
    if request.get('isShared'):
        return shared_registry(json.dumps(request['registry']))
    registry = request['registry']
    settings = {'url': registry['url'], 'max.retries': 0}
    if registry.get('username') is not None:
        settings['basic.auth.user.info'] = f'{registry["username"]}:{registry["password"]}'
    if registry.get('ca') is not None:
        settings['ssl.ca.location'] = registry['ca']
    return SchemaRegistryClient(settings)


def librdkafka(request):
    kafka = request['kafka']
    settings = {'bootstrap.servers': kafka['address']}
    if kafka.get('username') is not None:
        settings |= {
            'security.protocol': 'SASL_PLAINTEXT',
            'sasl.mechanism': 'SCRAM-SHA-256',
            'sasl.username': kafka['username'],
            'sasl.password': kafka['password'],
        }
    return settings


def message_class(descriptor):
    pool = DescriptorPool()
    pool.Add(json_format.ParseDict(json.loads(descriptor), FileDescriptorProto()))
    return GetMessageClass(pool.FindMessageTypeByName('com.acme.Order'))


def avro(registry, schema):
    return (
        lambda: AvroSerializer(registry, schema['text'], lambda order, _: order | {'id': int(order['id'])}),
        lambda: AvroDeserializer(registry, from_dict=lambda order, _: order | {'id': str(order['id'])}),
    )


def json_schema(registry, schema):
    return (
        lambda: JSONSerializer(schema['text'], registry, lambda order, _: order | {'id': int(order['id'])}),
        lambda: JSONDeserializer(
            None, schema_registry_client=registry, from_dict=lambda order, _: order | {'id': str(order['id'])}
        ),
    )


def protobuf(registry, schema):
    of = message_class(schema['descriptor'])
    serializer = lambda: ProtobufSerializer(of, registry)
    deserializer = lambda: ProtobufDeserializer(of, schema_registry_client=registry)

    def to_message(order):
        return json_format.ParseDict({name: value for name, value in order.items() if value is not None}, of())

    def from_message(message):
        order = json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
        return {'note': None} | order

    return (
        lambda: (lambda order, context, to=serializer(): to(None if order is None else to_message(order), context)),
        lambda: (lambda data, context, of=deserializer(): None if data is None else from_message(of(data, context))),
    )


FORMATS = {'AVRO': avro, 'JSON': json_schema, 'PROTOBUF': protobuf}


def send(request, values):
    failures = []
    producer = Producer(librdkafka(request) | {'acks': 'all'})
    for index, value in enumerate(values):
        producer.produce(
            request['topic'],
            key=str(index),
            value=value,
            partition=0,
            on_delivery=lambda error, _: error is not None and failures.append(error),
        )
    producer.flush(LONGEST_WAIT_S)
    if failures:
        raise KafkaException(failures[0])


def produce(request):
    to_bytes = FORMATS[request['schema']['format']](open_registry(request), request['schema'])[0]()
    context = SerializationContext(request['topic'], MessageField.VALUE)
    send(request, [to_bytes(order, context) for order in request['orders']])


def send_raw(request):
    send(request, [base64.b64decode(value) for value in request['values']])


def consume(request):
    of_bytes = FORMATS[request['schema']['format']](open_registry(request), request['schema'])[1]()
    context = SerializationContext(request['topic'], MessageField.VALUE)
    # A fetch at the end of the topic would delay the close.
    quick = {'group.id': request['group'], 'enable.auto.commit': False, 'fetch.wait.max.ms': 20}
    consumer = Consumer(librdkafka(request) | quick)
    consumer.assign([TopicPartition(request['topic'], 0, OFFSET_BEGINNING)])
    messages = []
    while len(messages) < request['count']:
        message = consumer.poll(LONGEST_WAIT_S)
        if message is None:
            raise TimeoutError(f'{len(messages)} of {request["count"]} records came')
        if message.error() is not None:
            raise KafkaException(message.error())
        messages.append(message)
    consumer.close()
    return [of_bytes(message.value(), context) for message in messages]


def register(request):
    schema = request['schema']
    return open_registry(request).register_schema(request['subject'], Schema(schema['text'], schema['format']))


def error_of(cause):
    said = {'type': type(cause).__name__, 'message': str(cause)}
    if isinstance(cause, SchemaRegistryError):
        said |= {'status': cause.http_status_code, 'code': cause.error_code}
    if isinstance(cause, KafkaException) and isinstance(cause.args[0], KafkaError):
        said |= {'code': cause.args[0].code(), 'name': cause.args[0].name()}
    return said


VERBS = {'produce': produce, 'consume': consume, 'register': register, 'send': send_raw}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {'done': VERBS[request['verb']](request)}
    except Exception as cause:
        answer = {'error': error_of(cause)}
    print(json.dumps({'number': request['number']} | answer), flush=True)
