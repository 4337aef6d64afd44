// The files that a schema may import without a reference, because every registry and every client knows them: those of
// google/protobuf and google/type, and Confluent's. Their declarations are written as short as possible: only names,
// numbers and types count.

import { linkFile } from './link.ts'
import type { File } from './model.ts'
import { parseText } from './parse-text.ts'
import { DESCRIPTOR_TEXT } from './well-known-descriptor.ts'
import { TYPE_BODIES } from './well-known-google-type.ts'

const WRAPPED = ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes']

/** The body of each file of google/protobuf (package google.protobuf, proto3). */
const BODIES: Readonly<Record<string, string>> = {
  any: 'message Any { string type_url = 1; bytes value = 2; }',
  api: `import "google/protobuf/source_context.proto"; import "google/protobuf/type.proto";
    message Api { string name = 1; repeated Method methods = 2; repeated Option options = 3; string version = 4;
      SourceContext source_context = 5; repeated Mixin mixins = 6; Syntax syntax = 7; }
    message Method { string name = 1; string request_type_url = 2; bool request_streaming = 3;
      string response_type_url = 4; bool response_streaming = 5; repeated Option options = 6; Syntax syntax = 7; }
    message Mixin { string name = 1; string root = 2; }`,
  duration: 'message Duration { int64 seconds = 1; int32 nanos = 2; }',
  empty: 'message Empty {}',
  field_mask: 'message FieldMask { repeated string paths = 1; }',
  source_context: 'message SourceContext { string file_name = 1; }',
  struct: `message Struct { map<string, Value> fields = 1; }
    message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3;
      bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } } enum
    NullValue { NULL_VALUE = 0; }
    message ListValue { repeated Value values = 1; }`,
  timestamp: 'message Timestamp { int64 seconds = 1; int32 nanos = 2; }',
  type: `import "google/protobuf/any.proto"; import "google/protobuf/source_context.proto";
    message Type { string name = 1; repeated Field fields = 2; repeated string oneofs = 3; repeated Option options = 4;
      SourceContext source_context = 5; Syntax syntax = 6; string edition = 7; }
    message Field { enum
      Kind { TYPE_UNKNOWN = 0; TYPE_DOUBLE = 1; TYPE_FLOAT = 2; TYPE_INT64 = 3; TYPE_UINT64 = 4; TYPE_INT32 = 5;
        TYPE_FIXED64 = 6; TYPE_FIXED32 = 7; TYPE_BOOL = 8; TYPE_STRING = 9; TYPE_GROUP = 10; TYPE_MESSAGE = 11;
        TYPE_BYTES = 12; TYPE_UINT32 = 13; TYPE_ENUM = 14; TYPE_SFIXED32 = 15; TYPE_SFIXED64 = 16; TYPE_SINT32 = 17;
        TYPE_SINT64 = 18; } enum
      Cardinality { CARDINALITY_UNKNOWN = 0; CARDINALITY_OPTIONAL = 1; CARDINALITY_REQUIRED = 2;
        CARDINALITY_REPEATED = 3; }
      Kind kind = 1; Cardinality cardinality = 2; int32 number = 3; string name = 4; string type_url = 6;
      int32 oneof_index = 7; bool packed = 8; repeated Option options = 9; string json_name = 10;
      string default_value = 11; }
    message Enum { string name = 1; repeated EnumValue enumvalue = 2; repeated Option options = 3;
      SourceContext source_context = 4; Syntax syntax = 5; string edition = 6; }
    message EnumValue { string name = 1; int32 number = 2; repeated Option options = 3; }
    message Option { string name = 1; Any value = 2; } enum
    Syntax { SYNTAX_PROTO2 = 0; SYNTAX_PROTO3 = 1; SYNTAX_EDITIONS = 2; }`,
  wrappers: WRAPPED.map(type => `message ${type}Value { ${type.toLowerCase()} value = 1; }`).join('\n'),
}

const EXTENDED = ['file', 'message', 'field', 'enum', 'enum_value']

const META = `import "google/protobuf/descriptor.proto";
  message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; repeated Rule rules = 4; }
  message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
  ${EXTENDED.map(what => `extend google.protobuf.${optionsOf(what)} { Meta ${what}_meta = 1088; }`).join('\n')}`

const CONFLUENT: Readonly<Record<string, string>> = {
  'confluent/meta.proto': `package confluent; ${META}`,
  'confluent/type/decimal.proto':
    'package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }',
  'confluent/type/variant.proto': 'package confluent.type; message Variant { bytes metadata = 1; bytes value = 2; }',
}

function optionsOf(what: string): string {
  const words = what.split('_').map(word => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join('')}Options`
}

const TEXTS: ReadonlyMap<string, string> = new Map([
  ['google/protobuf/descriptor.proto', DESCRIPTOR_TEXT],
  ...Object.entries(BODIES).map(([name, body]) => textOf('google/protobuf', 'google.protobuf', name, body)),
  ...Object.entries(TYPE_BODIES).map(([name, body]) => textOf('google/type', 'google.type', name, body)),
  ...Object.entries(CONFLUENT).map(([path, body]) => [path, `syntax = "proto3"; ${body}`] as const),
])

function textOf(folder: string, name: string, file: string, body: string): readonly [string, string] {
  return [`${folder}/${file}.proto`, `syntax = "proto3"; package ${name}; ${body}`]
}

const FILES = new Map<string, File>()

export function isWellKnown(path: string): boolean {
  return TEXTS.has(path)
}

export function wellKnownPaths(): string[] {
  return [...TEXTS.keys()]
}

/** The file, linked. All schemas share it. */
export function wellKnownFile(path: string): File {
  const known = FILES.get(path)
  if (known !== undefined) return known
  const file = parseText(TEXTS.get(path) ?? '', path)
  for (const imported of file.imports) wellKnownFile(imported.path)
  FILES.set(path, file)
  linkFile(file, FILES, 'new')
  return file
}
