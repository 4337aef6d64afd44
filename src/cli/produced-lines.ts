// Reads the lines of `ketch produce` as records: text with an optional key, or the JSON that `ketch export` and
// `ketch tail --json` write. With a schema, keys and values are JSON that the broker encodes.

import { isUtf8 } from 'node:buffer'
import type { Content, KeyOrValue, RecordToProduce, SchemaName } from '../api/messages.ts'
import { type Call, integerOption, pairsOption } from './command.ts'
import { CommandFailed, EXIT } from './exit-status.ts'

/** Returns the function that reads a line as a record, in the form that the options name. */
export function recordReader(call: Call): (line: Buffer, at: number) => RecordToProduce {
  const partition = integerOption(call, 'partition', 0)
  const schemas = {
    key: schemaOption(call, 'key-schema', 'key-message'),
    value: schemaOption(call, 'schema', 'message'),
  }
  if (call.has('ndjson'))
    return (line, at) => ({ ...readJson(line, at, schemas), ...(partition === undefined ? {} : { partition }) })
  const headers = pairsOption(call, 'header').map(([key, text]) => ({ key, value: { text } }))
  const given = call.option('key')
  const key = given === undefined ? null : withSchema({ text: given }, schemas.key)
  const separator = call.option('key-separator')
  const content = (bytes: Buffer, at: number, part: 'key' | 'value'): KeyOrValue => {
    const schema = schemas[part]
    if (isUtf8(bytes)) return withSchema({ text: bytes.toString() }, schema)
    if (schema !== undefined)
      throw new CommandFailed(EXIT.USAGE, `line ${at}: the ${part} is not UTF-8, and with a schema it takes JSON`)
    return { base64: bytes.toString('base64') }
  }
  return (line, at) => {
    if (separator === undefined) return { partition, key, value: content(line, at, 'value'), headers }
    const end = line.indexOf(separator)
    if (end < 0) throw new CommandFailed(EXIT.USAGE, `line ${at}: has no key before ${JSON.stringify(separator)}`)
    const value = line.subarray(end + Buffer.byteLength(separator))
    return { partition, key: content(line.subarray(0, end), at, 'key'), value: content(value, at, 'value'), headers }
  }
}

function withSchema(content: { readonly text: string }, schema: SchemaName | undefined): KeyOrValue {
  return schema === undefined ? content : { ...content, schema }
}

/** Reads `7` as an id, `orders-value:3` and `7:latest` as a version of a subject, any other text as a subject. */
function schemaOption(call: Call, name: string, messageName: string): SchemaName | undefined {
  const given = call.option(name)
  const message = call.option(messageName)
  if (given === undefined) {
    if (message !== undefined) throw new CommandFailed(EXIT.USAGE, `--${messageName} needs --${name}`)
    return undefined
  }
  if (given === '') throw new CommandFailed(EXIT.USAGE, `--${name}: got "", takes a subject, subject:version, or an id`)
  const more = message === undefined ? {} : { message }
  if (/^\d{1,10}$/.test(given)) return { id: Number(given), ...more }
  const [, subject, version] = /^(.+):(\d{1,10}|latest)$/.exec(given) ?? []
  if (subject === undefined) return { subject: given, ...more }
  return { subject, ...(version === 'latest' ? {} : { version: Number(version) }), ...more }
}

/** Members of an exported record that a new record does not take. */
const PASSED_OVER = ['offset', 'timestampType', 'headerCount', 'undecodedHeaders']

interface Schemas {
  readonly key: SchemaName | undefined
  readonly value: SchemaName | undefined
}

function readJson(line: Buffer, at: number, schemas: Schemas): RecordToProduce {
  const fail = (why: string): never => {
    throw new CommandFailed(EXIT.USAGE, `line ${at}: ${why}`)
  }
  let read: unknown
  try {
    read = JSON.parse(line.toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return fail(`is not JSON: ${error.message}`)
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return fail('is not a JSON object')
  const { partition, key, value, headers = [], timestamp, ...more } = read as Record<string, unknown>
  const strange = Object.keys(more).find(name => !PASSED_OVER.includes(name))
  if (strange !== undefined) return fail(`a record has no field ${JSON.stringify(strange)}`)
  const content = (shown: unknown, what: string): Content | null => {
    if (shown === undefined || shown === null) return null
    if (typeof shown === 'string') return { text: shown }
    const { text, base64, truncated } = shown as { text?: unknown; base64?: unknown; truncated?: unknown }
    if (truncated === true) return fail(`the ${what} is cut off`)
    if (typeof text === 'string') return { text }
    if (typeof base64 === 'string') return { base64 }
    return fail(`the ${what} takes a text, {"text": …}, {"base64": …} or null`)
  }
  const part = (shown: unknown, name: 'key' | 'value'): KeyOrValue | null => {
    const bytes = content(shown, name)
    // Bytes that were not decoded have their schema in front already.
    if (bytes === null || !('text' in bytes)) return bytes
    return withSchema(bytes, schemas[name] ?? schemaIn(shown))
  }
  if (!Array.isArray(headers)) return fail('headers takes a list')
  if (typeof more.headerCount === 'number' && more.headerCount > headers.length)
    return fail(`only ${headers.length} of ${more.headerCount} headers are there`)
  return {
    partition: partition as number | undefined,
    key: part(key, 'key'),
    value: part(value, 'value'),
    headers: headers.map((header: { key?: unknown; value?: unknown } | null) => {
      if (typeof header?.key !== 'string') return fail('a header takes a key')
      return { key: header.key, value: content(header.value, `header ${header.key}`) }
    }),
    // Null means no timestamp. The API checks all other values.
    timestamp: (timestamp ?? undefined) as number | undefined,
  }
}

/** Returns the schema of a value that was exported with it. The API checks it. */
function schemaIn(shown: unknown): SchemaName | undefined {
  const { schema } = shown as { readonly schema?: unknown }
  if (typeof schema !== 'object' || schema === null) return undefined
  const { id, subject, version, message } = schema as Record<string, unknown>
  const name = id !== undefined ? { id } : { subject, ...(version == null ? {} : { version }) }
  return { ...name, ...(message === undefined ? {} : { message }) } as SchemaName
}
