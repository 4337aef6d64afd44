"""Random messages of a FileDescriptorSet with their proto3 JSON, and the comparison of payloads.

messages.py make SET SEED COUNT NAME...: one line of JSON for each message: its name, its bytes as hexadecimal, its JSON.
messages.py same SET: reads lines of JSON with a name and two payloads, and prints those that are not the same message.
"""

import json
import random
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

POOL = descriptor_pool.DescriptorPool()
LEVELS = 5
TIMES = [0, -1, -62135596800, 253402300799, 1700000000]
NANOS = [0, 1, 1000, 1000000, 500000000, 999999999]


def load(path):
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, 'rb') as file:
        files.ParseFromString(file.read())
    for file in files.file:
        POOL.Add(file)


def make(name):
    descriptor = POOL.FindMessageTypeByName(name)
    if hasattr(message_factory, 'GetMessageClass'):
        return message_factory.GetMessageClass(descriptor)()
    return message_factory.MessageFactory(POOL).GetPrototype(descriptor)()


def integer(chance, bits, signed):
    if signed:
        return chance.choice([0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), chance.randint(-1000, 1000)])
    return chance.choice([0, 1, 2**bits - 1, chance.randint(0, 10**6)])


def scalar(chance, field):
    kind = field.type
    if kind in (field.TYPE_INT32, field.TYPE_SINT32, field.TYPE_SFIXED32):
        return integer(chance, 32, True)
    if kind in (field.TYPE_INT64, field.TYPE_SINT64, field.TYPE_SFIXED64):
        return integer(chance, 64, True)
    if kind in (field.TYPE_UINT32, field.TYPE_FIXED32):
        return integer(chance, 32, False)
    if kind in (field.TYPE_UINT64, field.TYPE_FIXED64):
        return integer(chance, 64, False)
    if kind == field.TYPE_DOUBLE:
        return chance.choice([0.0, 1.5, -2.25e300, float('inf'), float('-inf'), float('nan'), chance.random()])
    if kind == field.TYPE_FLOAT:
        return chance.choice([0.0, 1.5, 0.1, 1e20, float('inf'), float('nan')])
    if kind == field.TYPE_BOOL:
        return chance.random() < 0.5
    if kind == field.TYPE_STRING:
        return chance.choice(['', 'a', 'tr\u00fce', '\U0001f600 x', '"q\\', '\u2028\n\x01', 'x' * chance.randint(0, 300)])
    if kind == field.TYPE_BYTES:
        return bytes(chance.randint(0, 255) for _ in range(chance.randint(0, 20)))
    return chance.choice(field.enum_type.values).number


def fill(chance, message, level):
    name = message.DESCRIPTOR.full_name
    if name == 'google.protobuf.Timestamp':
        message.seconds, message.nanos = chance.choice(TIMES), chance.choice(NANOS)
    elif name == 'google.protobuf.Duration':
        sign = chance.choice([1, -1])
        message.seconds, message.nanos = sign * chance.choice([0, 1, 100000]), sign * chance.choice(NANOS)
    elif name == 'google.protobuf.FieldMask':
        message.paths.extend(chance.sample(['a', 'foo_bar', 'x.y_z', 'a_b_c'], chance.randint(0, 3)))
    elif name == 'google.protobuf.Any':
        # Messages without maps: the order of their entries in these bytes is free.
        inner = make(chance.choice(['google.protobuf.Duration', 'google.protobuf.Int64Value', 'google.protobuf.Timestamp']))
        fill(chance, inner, level + 2)
        message.type_url = 'type.googleapis.com/' + inner.DESCRIPTOR.full_name
        message.value = inner.SerializeToString()
    elif name == 'google.protobuf.Value':
        # A number that JSON lacks is no value.
        message.number_value = chance.choice([0.0, 1.5, -3e10])
        if level < LEVELS and chance.random() < 0.7:
            kind = chance.choice(['null_value', 'string_value', 'bool_value', 'struct_value', 'list_value'])
            put(chance, message, message.DESCRIPTOR.fields_by_name[kind], level)
    else:
        for field in message.DESCRIPTOR.fields:
            share = 0.45 if level == 0 else 0.3 if level < 3 else 0.05
            if chance.random() < share or field.label == field.LABEL_REQUIRED:
                put(chance, message, field, level)


def put(chance, message, field, level):
    value = getattr(message, field.name)
    if field.message_type is None:
        if field.label == field.LABEL_REPEATED:
            value.extend(scalar(chance, field) for _ in range(chance.randint(0, 3)))
        else:
            setattr(message, field.name, scalar(chance, field))
    elif field.message_type.GetOptions().map_entry:
        key, item = (field.message_type.fields_by_name[name] for name in ('key', 'value'))
        for _ in range(chance.randint(0, 3)):
            if item.message_type is None:
                value[scalar(chance, key)] = scalar(chance, item)
            else:
                fill(chance, value[scalar(chance, key)], level + 1)
    elif level < LEVELS:
        if field.label != field.LABEL_REPEATED:
            value.SetInParent()
            fill(chance, value, level + 1)
        else:
            for _ in range(chance.randint(0, 3)):
                fill(chance, value.add(), level + 1)


def run(command, path, *rest):
    load(path)
    if command == 'make':
        chance = random.Random(int(rest[0]))
        for _ in range(int(rest[1])):
            name = chance.choice(rest[2:])
            message = make(name)
            fill(chance, message, 0)
            text = json_format.MessageToJson(message, indent=0, descriptor_pool=POOL)
            print(json.dumps([name, message.SerializeToString().hex(), text]))
        return
    for line in sys.stdin:
        name, one, other = json.loads(line)
        messages = [make(name), make(name)]
        for message, payload in zip(messages, (one, other)):
            message.ParseFromString(bytes.fromhex(payload))
        # NaN is not equal to itself, so that the bytes are compared.
        first, second = (message.SerializeToString(deterministic=True) for message in messages)
        if first != second:
            print(line.strip())


run(*sys.argv[1:])
