// Reads the settings of a broker from the file, then the environment, then the command line; each beats the one
// before. Then it checks them. The first error ends it with one message. The message names the key, the value, the
// accepted values and the origin; for an unknown key also the nearest known key, if one is near. No message contains
// a value that could be a secret.

import { resolve } from 'node:path'
import { checkConsistency } from './consistency.ts'
import { hasTlsListener, isLoopback, kafkaEndpoints, usesSasl, usesTls } from './endpoints.ts'
import { chooseEngine, redisKey } from './engine.ts'
import type { Scalar } from './grammar.ts'
import { nearest } from './nearest.ts'
import { NotAPlainFile } from './plain-file.ts'
import type { Fields, GivenValue, Key, Settings } from './settings.ts'
import {
  ACTUATOR_ENDPOINTS,
  fullKey,
  keys,
  makeSettings,
  propertyName,
  SettingsError,
  settingsTable,
} from './settings.ts'
import type { Entry } from './sources.ts'
import {
  CONFIG_VARIABLE,
  knownEnvironmentNames,
  LARGEST_FILE_BYTES,
  readCommandLine,
  readEnvironment,
  readYaml,
} from './sources.ts'
import { checkSwitches } from './switches.ts'

export interface SettingsSources {
  /** The arguments after the program's name. --help and --version are handled by the caller and ignored here. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Reads at most `mostBytes` + 1 bytes of a file. Throws NotAPlainFile, or an error with `code` as node:fs does. */
  readonly readFile: (path: string, mostBytes: number) => Uint8Array
}

/** Read from the working directory if no other file is named. It may be missing. */
const DEFAULT_FILE = './svc.yaml'

/** Returns the checked settings of these sources. Throws SettingsError, whose message is ready to print. */
export function loadSettings(sources: SettingsSources): Settings {
  const commandLine = readCommandLine(sources.argv)
  const file = readFileEntries(commandLine.config, sources)
  const layers = [bind(file.entries), bind(readEnvironment(sources.env)), bind(commandLine.entries)]
  const { given, overrides } = merge(layers)
  const settings = makeSettings(given, { warnings: [], overrides, file: file.path })
  const wrong = checkConsistency(settings) ?? checkSwitches(settings)
  if (wrong !== null) throw new SettingsError(wrong)
  return makeSettings(given, { warnings: findWarnings(settings), overrides, file: file.path })
}

interface SettingsFile {
  /** The absolute path; null if there is no file. */
  readonly path: string | null
  readonly entries: readonly Entry[]
}

function readFileEntries(option: string | null, { env, cwd, readFile }: SettingsSources): SettingsFile {
  const variable = env[CONFIG_VARIABLE]
  if (option === null && variable?.trim() === '')
    throw new SettingsError(`${CONFIG_VARIABLE}: got nothing, takes the path of a YAML file`)
  const named = option ?? variable
  const by = option === null ? `environment variable ${CONFIG_VARIABLE}` : '--config'
  const path = named ?? DEFAULT_FILE
  try {
    const absolute = resolve(cwd, path)
    return { path: absolute, entries: readYaml(readFile(absolute, LARGEST_FILE_BYTES), path) }
  } catch (error) {
    if (error instanceof SettingsError) throw error
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    if (code === 'ENOENT' && named === undefined) return { path: null, entries: [] }
    const why =
      error instanceof NotAPlainFile
        ? `it is ${error.message}`
        : code === 'ENOENT'
          ? 'there is no such file'
          : `it cannot be read (${code})`
    throw new SettingsError(named === undefined ? `${path}: ${why}` : `${by}: got '${path}', but ${why}`)
  }
}

type Layer = ReadonlyMap<Key, GivenValue>

const keyByFullKey: ReadonlyMap<string, Key> = new Map(keys.map(key => [fullKey(key), key]))

/** The parts of one list or map in one source: items by position or name, and their entries by field. */
interface Parts {
  readonly origin: string
  readonly items: Map<string, Map<string, Entry>>
}

function bind(entries: readonly Entry[]): Layer {
  const given = new Map<Key, GivenValue>()
  const composite = new Map<Key, Parts>()
  for (const entry of entries) {
    const key = keyByFullKey.get(entry.key)
    if (key !== undefined) bindWhole(given, key, entry)
    else bindPart(composite, entry)
  }
  for (const [key, parts] of composite) {
    if (given.has(key) && settingsTable[key].shape.kind !== 'map') {
      throw new SettingsError(
        `${fullKey(key)}: given whole (${given.get(key)!.origin}) and in parts (${parts.origin}), takes one of them`,
      )
    }
    given.set(key, assemble(key, parts))
  }
  return given
}

function bindWhole(given: Map<Key, GivenValue>, key: Key, entry: Entry): void {
  const { shape, fallback } = settingsTable[key]
  const { text, origin } = entry
  const isBlank = text.trim() === ''
  if (given.has(key))
    throw new SettingsError(`${fullKey(key)}: given twice (${given.get(key)!.origin} and ${origin}), takes one value`)
  if (shape.kind === 'one') {
    // A blank value unsets an optional setting, as `SVC_REDIS_PASSWORD=` in an environment file does. A host is never
    // blank.
    if (isBlank && fallback() === null && shape.type.name !== 'host')
      given.set(key, { value: null, origin, shown: 'unset' })
    else given.set(key, { value: parse(shape.type, entry), origin, shown: shape.type.show(text) })
  } else if (shape.kind === 'list') {
    const items = isBlank ? [] : text.split(',').map(item => ({ ...entry, text: item.trim() }))
    given.set(key, {
      value: Object.freeze(items.map(item => parse(shape.item, item))),
      origin,
      shown: shape.item.show(text),
    })
  } else if (isBlank) {
    given.set(key, { value: shape.kind === 'map' ? new Map() : Object.freeze([]), origin, shown: '' })
  } else {
    const takes =
      shape.kind === 'map' ? `values by name (${entry.key}.<name>)` : `a list of entries (${entry.key}[0].name)`
    throw new SettingsError(`${entry.key}: got one value, takes ${takes} (from ${origin})`)
  }
}

/**
 * Adds an entry such as `svc.topics[0].name`, `svc.broker.sasl.mechanisms[0]` or `logging.level.x` to the parts of
 * its key. Throws SettingsError if the entry belongs to no key.
 */
function bindPart(composite: Map<Key, Parts>, entry: Entry): void {
  const found = /^([^[]+)\[([0-9]+)\](?:\.(.+))?$/.exec(entry.key)
  const listKey = found ? keyByFullKey.get(found[1]!) : undefined
  if (found && listKey !== undefined) {
    const { shape } = settingsTable[listKey]
    const field = found[3] ?? ''
    const isKnown =
      shape.kind === 'list' ? field === '' : shape.kind === 'entries' && Object.hasOwn(shape.fields, field)
    if (isKnown) {
      addPart(composite, listKey, String(Number(found[2])), field, entry)
      return
    }
    if (shape.kind === 'entries' && field === '') {
      throw new SettingsError(
        `${entry.key}: got ${entry.text.trim() === '' ? 'nothing' : 'one value'}, takes fields such as ${entry.key}.name (from ${entry.origin})`,
      )
    }
  }
  const mapKey = keys.find(key => settingsTable[key].shape.kind === 'map' && entry.key.startsWith(`${fullKey(key)}.`))
  if (mapKey !== undefined) {
    addPart(composite, mapKey, entry.key.slice(fullKey(mapKey).length + 1), '', entry)
    return
  }
  // `svc:` with all keys below it commented out is allowed and sets nothing.
  if (entry.text.trim() === '' && keys.some(key => fullKey(key).startsWith(`${entry.key}.`))) return
  throw unknownKey(entry)
}

function addPart(composite: Map<Key, Parts>, key: Key, item: string, field: string, entry: Entry): void {
  const parts = composite.get(key) ?? { origin: entry.origin, items: new Map<string, Map<string, Entry>>() }
  composite.set(key, parts)
  const fields = parts.items.get(item) ?? new Map<string, Entry>()
  parts.items.set(item, fields)
  const earlier = fields.get(field)
  if (earlier)
    throw new SettingsError(`${entry.key}: given twice (${earlier.origin} and ${entry.origin}), takes one value`)
  fields.set(field, entry)
}

function unknownKey({ key, origin }: Entry): SettingsError {
  const fromEnvironment = origin.startsWith('environment variable')
  const inList = /^(.+\[[0-9]+\])\./.exec(key)?.[1]
  const candidates = fromEnvironment
    ? [...knownEnvironmentNames(), CONFIG_VARIABLE]
    : keys.flatMap(known => spellings(known, inList))
  const near =
    withoutPrefix(key, candidates) ?? switchOf(key, candidates, fromEnvironment ? '_' : '.') ?? nearest(key, candidates)
  const suggestion = near === null ? 'ketch --help settings lists them' : `the nearest known one is ${near}`
  const shown = key.length > 200 ? `${key.slice(0, 200)}…` : key
  const printable = shown.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
  return new SettingsError(`${printable}: not a setting; ${suggestion} (from ${origin})`)
}

/** Returns the known key that differs only by the prefix `svc.`, which some keys, such as server.port, do not have. */
function withoutPrefix(key: string, known: readonly string[]): string | null {
  return known.find(each => each === `svc.${key}` || `svc.${each}` === key) ?? null
}

/** Returns the known key that differs only by `enabled` at its end: `sasl: true` and `tls: { enabled: true }`. */
function switchOf(key: string, known: readonly string[], separator: '.' | '_'): string | null {
  const [wanted, end] = [key.toLowerCase(), `${separator}enabled`]
  return (
    known
      .map(each => [each, each.toLowerCase()] as const)
      .find(([, each]) => each === `${wanted}${end}` || `${each}${end}` === wanted)?.[0] ?? null
  )
}

function spellings(key: Key, inList: string | undefined): readonly string[] {
  const full = fullKey(key)
  const { shape } = settingsTable[key]
  if (shape.kind !== 'entries') return [full]
  const item = inList ?? `${full}[0]`
  return [full, ...(item.startsWith(full) ? Object.keys(shape.fields).map(field => `${item}.${field}`) : [])]
}

function assemble(key: Key, { items, origin }: Parts): GivenValue {
  const { shape } = settingsTable[key]
  if (shape.kind === 'map') {
    const value = new Map([...items].map(([name, fields]) => [name, parse(shape.item, fields.get('')!)]))
    return { value, origin, shown: [...value].map(([name, one]) => `${name}=${one}`).join(',') }
  }
  const positions = [...items.keys()].map(Number).sort((a, b) => a - b)
  const gap = positions.findIndex((position, at) => position !== at)
  if (gap >= 0) {
    throw new SettingsError(
      `${fullKey(key)}[${positions[gap]}]: got an entry at position ${positions[gap]}, takes positions from 0 without gaps (${gap} is missing, from ${origin})`,
    )
  }
  const value = positions.map(position => {
    const fields = items.get(String(position))!
    if (shape.kind === 'list') return parse(shape.item, fields.get('')!)
    return shape.kind === 'entries' ? assembleEntry(`${fullKey(key)}[${position}]`, shape.fields, fields, origin) : null
  })
  const shown = shape.kind === 'list' ? value.join(',') : `${value.length} ${value.length === 1 ? 'entry' : 'entries'}`
  const partOrigins = new Map(
    [...items].flatMap(([item, fields]) =>
      [...fields].map(([field, entry]) => [`[${item}].${field}`, entry.origin] as const),
    ),
  )
  return { value: Object.freeze(value), origin, shown, partOrigins }
}

function assembleEntry(path: string, fields: Fields, written: ReadonlyMap<string, Entry>, origin: string): unknown {
  const pairs = Object.entries(fields).map(([name, { type, required }]) => {
    const entry = written.get(name)
    if (entry !== undefined && (entry.text.trim() !== '' || required || type.name === 'host'))
      return [propertyName(name), parse(type, entry)]
    if (required)
      throw new SettingsError(
        `${path}.${name}: missing, and every entry needs one (from ${origin}; a list given by one source replaces the whole list of another)`,
      )
    return [propertyName(name), null]
  })
  return Object.freeze(Object.fromEntries(pairs))
}

function parse(type: Scalar<unknown>, { key, text, origin }: Entry): unknown {
  const value = type.parse(text)
  if (value !== undefined) return value
  const shown = text.trim() === '' ? 'nothing' : `'${type.show(text)}'`
  throw new SettingsError(`${key}: got ${shown}, takes ${type.takes} (from ${origin})`)
}

/** Merges the layers; a later layer wins. It replaces a list as a whole, and a map name by name. */
function merge(layers: readonly Layer[]): {
  readonly given: ReadonlyMap<Key, GivenValue>
  readonly overrides: readonly string[]
} {
  const given = new Map<Key, GivenValue>()
  const overrides: string[] = []
  for (const layer of layers) {
    for (const [key, next] of layer) {
      const earlier = given.get(key)
      if (earlier && settingsTable[key].shape.kind === 'map') {
        given.set(key, mergeMaps(earlier, next))
      } else {
        if (earlier) overrides.push(`${fullKey(key)}: ${next.origin} overrides ${earlier.origin}`)
        given.set(key, next)
      }
    }
  }
  return { given, overrides }
}

function mergeMaps(earlier: GivenValue, next: GivenValue): GivenValue {
  const value = new Map([
    ...(earlier.value as ReadonlyMap<string, unknown>),
    ...(next.value as ReadonlyMap<string, unknown>),
  ])
  return {
    value,
    origin: `${earlier.origin} and ${next.origin}`,
    shown: [...value].map(([name, one]) => `${name}=${one}`).join(','),
  }
}

/** At most one warning for each listener. */
function warningsOfListeners(settings: Settings): readonly string[] {
  const endpoints = kafkaEndpoints(settings)
  const hasSecured = endpoints.some(({ security }) => security !== 'plaintext')
  const rights = settings.get('broker.acl.enabled') ? 'do what the rules of ANONYMOUS allow' : 'read and write'
  return endpoints.flatMap(({ name, host, security, securedBy }) => {
    const listener = `the Kafka listener ${name} on ${host}`
    if (hasSecured && security === 'plaintext')
      return `${listener} is plaintext (${securedBy}) beside secured listeners: its clients need neither TLS nor credentials, and may ${rights}`
    const asksForCertificate = usesTls(security) && settings.get('broker.client-auth-required')
    if (usesSasl(security) || asksForCertificate || isLoopback(host)) return []
    return `${listener} takes clients without credentials (${securedBy}): any client that reaches the port may ${rights}`
  })
}

/** Files that look like security and that no listener uses. */
function warningsOfIdleFiles(settings: Settings): readonly string[] {
  const hasTls = hasTlsListener(settings)
  const file: Key = hasTls ? 'broker.trust-cert-file' : 'broker.cert-file'
  if (settings.get(file) === null || (hasTls && settings.get('broker.client-auth-required'))) return []
  const reason = hasTls
    ? 'svc.broker.client-auth-required is false'
    : 'no Kafka listener uses TLS; svc.broker.tls is false'
  return [`${fullKey(file)} is set but has no effect: ${reason}`]
}

/** A token of fewer characters is worth a warning: 32 of base64 have 192 random bits. */
const WISE_TOKEN = 32

function findWarnings(settings: Settings): readonly string[] {
  const warnings: string[] = []
  const address = settings.get('server.address')
  const reach = address === null ? 'every interface (server.address is not set)' : address
  if (!settings.get('admin.security-enabled')) {
    if (!isLoopback(address)) {
      warnings.push(
        `INSECURE: svc.admin.security-enabled=false, and the admin API answers on ${reach}: any client that reaches it may do everything, without a password`,
      )
    }
  }
  if (settings.get('broker.enabled')) warnings.push(...warningsOfListeners(settings), ...warningsOfIdleFiles(settings))
  if (settings.get('admin.oauth.enabled')) {
    if (!settings.get('admin.security-enabled')) {
      warnings.push(
        'svc.admin.oauth.enabled is set but has no effect: with svc.admin.security-enabled=false no user signs in',
      )
    } else if (settings.get('admin.oauth.redirect-uri') === null && !isLoopback(address)) {
      warnings.push(
        'svc.admin.oauth.redirect-uri is not set: the provider gets the Host header of the request; set it to the address that people open',
      )
    }
  }
  if (settings.get('mcp.enabled') && settings.get('admin.security-enabled')) {
    const token = settings.get('mcp.token') ?? ''
    if (token.length < WISE_TOKEN)
      warnings.push(
        `svc.mcp.token has fewer than ${WISE_TOKEN} characters: a client may guess it; take a random one, for example of openssl rand -hex 32`,
      )
  }
  const exposure = 'management.endpoints.web.exposure.include'
  const known: readonly string[] = [...ACTUATOR_ENDPOINTS, '*']
  const unknown = settings.get(exposure).filter(name => !known.includes(name))
  if (unknown.length > 0) {
    warnings.push(
      `${exposure} (${settings.origin(exposure)}) names unknown endpoints: ${unknown.map(name => `'${name}'`).join(', ')}; the known ones are ${known.join(', ')}`,
    )
  }
  const key = redisKey(settings)
  if (key !== null && chooseEngine(settings).engine === 'embedded') {
    warnings.push(`${fullKey(key)} is set but has no effect: svc.storage.local.engine chooses the embedded store`)
  }
  for (const prefix of ['redis', 'storage.local.redis'] as const) {
    if (settings.get(`${prefix}.uri`) === null) continue
    for (const part of ['host', 'port', 'username', 'password'] as const) {
      if (settings.isSet(`${prefix}.${part}`) && settings.get(`${prefix}.${part}`) !== null)
        warnings.push(`svc.${prefix}.${part} is set but has no effect: svc.${prefix}.uri replaces it`)
    }
  }
  const path = settings.get('storage.remote.path')
  if (path?.startsWith('s3://') !== true) {
    const idle = S3_KEYS.filter(each => settings.isSet(each) && settings.get(each) !== null)
    for (const each of idle)
      warnings.push(`${fullKey(each)} is set but has no effect: svc.storage.remote.path does not begin with s3://`)
  }
  return warnings
}

const S3_KEYS = keys.filter(key => key.startsWith('storage.remote.s3.'))
