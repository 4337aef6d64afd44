// Schemas that are made to cost a registry its processor, its memory or its life, and what each gets: the HTTP status
// and the error_code; 200 where the schema is only unusual.

export interface HostileSchema {
  readonly name: string
  readonly type: 'AVRO' | 'JSON' | 'PROTOBUF'
  readonly schema: string
  readonly gets: number
}

const MiB = 1024 * 1024
const many = (count: number, one: (at: number) => string, between = ',') =>
  Array.from({ length: count }, (_, at) => one(at)).join(between)
const record = (fields: string, more = '') => `{"type":"record","name":"R"${more},"fields":[${fields}]}`
const field = (type: string, more = '') => `{"name":"f","type":${type}${more}}`
const message = (body: string, head = '') => `syntax = "proto3";\n${head}message M { ${body} }`
const nested = (open: string, inside: string, close: string, levels: number) =>
  open.repeat(levels) + inside + close.repeat(levels)

const avro: readonly (readonly [name: string, gets: number, schema: string])[] = [
  ['a schema of 10 MB', 413, `"${'x'.repeat(10 * MiB)}"`],
  ['a schema beyond 512 KiB', 42209, record(field('"int"', `,"doc":"${'x'.repeat(600_000)}"`))],
  [
    '10,000 nested records',
    42201,
    nested('{"type":"record","name":"R","fields":[{"name":"f","type":', '"int"', '}]}', 7_000),
  ],
  ['200,000 nested arrays', 42201, '['.repeat(200_000)],
  ['20,000 nested arrays of arrays', 42201, nested('{"type":"array","items":', '"int"', '}', 20_000)],
  ['50,000 symbols', 200, `{"type":"enum","name":"E","symbols":[${many(50_000, at => `"S${at}"`)}]}`],
  ['30,000 branches', 42201, `[${many(30_000, () => '"int"')}]`],
  ['a type that is only itself', 42201, '{"type":{"type":"R"},"name":"R"}'],
  ['a record of itself', 200, record(field('"R"'))],
  [
    'a name twice',
    42201,
    record(`${field('{"type":"fixed","name":"F","size":1}')},{"name":"g","type":{"type":"fixed","name":"F","size":2}}`),
  ],
  ['a default of another type', 42201, record(field('"int"', ',"default":"x"'))],
  [
    'a default of 100,000 nulls',
    200,
    record(field('{"type":"array","items":"null"}', `,"default":[${many(100_000, () => 'null')}]`)),
  ],
  ['a fixed of 2 GB', 42201, '{"type":"fixed","name":"F","size":2147483639}'],
  ['a fixed of 64 MiB', 200, '{"type":"fixed","name":"F","size":67108864}'],
  [
    'a fixed of 2 GB with a default',
    42201,
    record(field('{"type":"fixed","name":"F","size":2147483639}', ',"default":""')),
  ],
  ['a fixed of 2^53', 42201, '{"type":"fixed","name":"F","size":9007199254740993}'],
  ['a union in a union', 42201, '["int",["long"]]'],
  ['a record that doubles itself 60 times', 200, doubling(60)],
  ['NUL and half a surrogate in names', 42201, '{"type":"record","name":"\\u0000\\ud800","fields":[]}'],
]

/** Each record has the one before twice. */
function doubling(times: number): string {
  let inner = '"null"'
  for (let at = 0; at < times; at++)
    inner = `{"type":"record","name":"D${at}","fields":[{"name":"a","type":${inner}},{"name":"b","type":${at === 0 ? '"null"' : `"D${at - 1}"`}}]}`
  return inner
}

const protobuf: readonly (readonly [name: string, gets: number, schema: string])[] = [
  ['an import of /etc/passwd', 42201, message('', 'import "/etc/passwd";\n')],
  ['an import of ../', 42201, message('', 'import "../../x.proto";\n')],
  ['an import that is missing', 42201, message('', 'import "other.proto";\n')],
  ['an import of a URL', 42201, message('', 'import "http://127.0.0.1:1/x.proto";\n')],
  ['20,000 fields', 200, message(many(20_000, at => `int32 f${at} = ${at + (at < 18_999 ? 1 : 1_001)};`, ''))],
  ['field number 0', 42201, message('int32 f = 0;')],
  ['field number 2^29', 42201, message('int32 f = 536870912;')],
  ['20,000 nested messages', 42201, message(nested('message N { ', '', '}', 20_000))],
  ['200,000 opening braces', 42201, '{'.repeat(200_000)],
  ['an option 20,000 deep', 42201, message(`option (x) = { ${nested('a { ', '', '}', 20_000)} };`)],
  ['a comment without end', 42201, `/*${'x'.repeat(400_000)}`],
  ['a text of quotation marks', 42201, '"'.repeat(500_001)],
  ['bytes that are no descriptor', 42201, Buffer.alloc(300_000, 0xff).toString('base64')],
  [
    'a descriptor of 100,000 empty messages',
    42201,
    Buffer.concat([Buffer.from('0a01618a', 'hex'), Buffer.from('2200'.repeat(100_000), 'hex')]).toString('base64'),
  ],
]

const json: readonly (readonly [name: string, gets: number, schema: string])[] = [
  ['a $ref over http', 42201, '{"$ref":"http://127.0.0.1:1/x.json"}'],
  ['a $ref to a file', 42201, '{"$ref":"file:///etc/passwd"}'],
  ['a $ref to a host', 42201, '{"$ref":"//127.0.0.1:1/x"}'],
  [
    'a base that another $id changes',
    42201,
    '{"$id":"http://127.0.0.1:1/a/","properties":{"x":{"$id":"../b/","$ref":"c.json"}}}',
  ],
  ['a $ref to itself', 42201, '{"$ref":"#"}'],
  [
    'two $refs to each other',
    42201,
    '{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}',
  ],
  ['a tree of itself', 200, '{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}'],
  ['an enum of 5,000', 200, `{"enum":[${many(5_000, at => `"s${at}"`)}]}`],
  ['30 allOf in each other', 200, nested('{"allOf":[', '{}', ']}', 30)],
  ['10,000 allOf in each other', 42201, nested('{"allOf":[', '{}', ']}', 10_000)],
  ['200,000 nested arrays', 42201, '['.repeat(200_000)],
  ['a pattern that explodes', 200, '{"type":"string","pattern":"^(a+)+$"}'],
  ['a pattern of 100,000 groups', 42201, `{"pattern":"${'('.repeat(50_000)}${')'.repeat(50_000)}"}`],
  ['a pattern without its end', 42201, '{"pattern":"("}'],
  [
    '20 definitions that double',
    200,
    `{"$ref":"#/definitions/d19","definitions":{"d0":{"type":"string"},${many(19, at => `"d${at + 1}":{"allOf":[{"$ref":"#/definitions/d${at}"},{"$ref":"#/definitions/d${at}"}]}`)}}}`,
  ],
  // A check may take 1,000 ms of processor time, and this one takes a quarter of that at most.
  ['800 properties', 200, `{"properties":{${many(800, at => `"p${at}":{"type":"string"}`)}}}`],
  ['a bad draft', 200, '{"$schema":"http://127.0.0.1:1/own","type":"string"}'],
]

const of = (type: HostileSchema['type'], rows: typeof avro) =>
  rows.map(([name, gets, schema]) => ({ name, type, schema, gets }))

export const hostileSchemas: readonly HostileSchema[] = [
  ...of('AVRO', avro),
  ...of('PROTOBUF', protobuf),
  ...of('JSON', json),
]

/** A pair whose comparison has a million pairs of members. */
export const widePair: readonly [string, string] = [0, 1].map(version =>
  JSON.stringify({
    anyOf: Array.from({ length: 1_000 }, (_, at) => ({
      type: 'object',
      properties: { [`p${at}`]: { type: version === 0 ? 'string' : 'number' }, [`q${(at * 7) % 1_000}`]: {} },
      required: [`q${at}`],
    })),
  }),
) as unknown as [string, string]
