// Levels and modes, of one subject or of all. A subject is named by its name, and all subjects by null.

import { isRefusal, type RegistryRefusal, refusals } from '../refusals.ts'
import type { JsonObject } from '../state/content.ts'
import { LEVELS, type Level, latestLive, levelOf, MODES, type Mode, type Subject } from '../state/subject.ts'
import type { SubjectChange } from '../state/subjects.ts'
import { objectionToSubject } from '../subject-names.ts'
import { isDeeperThan } from './candidate.ts'
import { inForce } from './compatibility.ts'
import type { VerbRooms } from './rooms.ts'

export interface ScopeOptions {
  /** Where a subject has no value of its own, the answer is the global value. */
  readonly isDefaultedToGlobal?: boolean | undefined
}

export const DEFAULT_MODE: Mode = 'READWRITE'
const POLICIES: readonly unknown[] = ['STRICT', 'LENIENT']

/** The members of a configuration that are kept, and the types of their values. Others are ignored. */
const MEMBERS: Readonly<Record<string, 'string' | 'boolean' | 'object'>> = Object.freeze({
  alias: 'string',
  normalize: 'boolean',
  validateFields: 'boolean',
  validateNewSchemas: 'boolean',
  validateRules: 'boolean',
  compatibilityPolicy: 'string',
  compatibilityGroup: 'string',
  defaultMetadata: 'object',
  overrideMetadata: 'object',
  defaultRuleSet: 'object',
  overrideRuleSet: 'object',
})

const MOST_CONFIG_BYTES = 64 * 1024
const MOST_CONFIG_LEVELS = 32

/** Resolves with the configuration, with `compatibilityLevel`. */
export async function getConfig(
  { state, defaultLevel }: VerbRooms,
  name: string | null,
  { isDefaultedToGlobal = false }: ScopeOptions = {},
): Promise<JsonObject | RegistryRefusal> {
  if (name === null) return globalConfig(await state.global.fresh(), defaultLevel)
  const subject = await state.subjects.fresh(name)
  if (Object.keys(subject.config).length > 0) {
    const level = levelOf(subject) ?? (isDefaultedToGlobal ? levelOf(await state.global.fresh()) : null)
    const rest = isDefaultedToGlobal ? { compatibilityLevel: level ?? defaultLevel } : {}
    return { ...rest, ...subject.config }
  }
  return isDefaultedToGlobal ? globalConfig(await state.global.fresh(), defaultLevel) : refusals.noSubjectLevel(name)
}

function globalConfig({ config }: Subject, defaultLevel: Level): JsonObject {
  return { compatibilityLevel: defaultLevel, ...config }
}

export interface ExpectedConfig {
  /** The level that the subject, or the registry, has of its own now; with another one it is refused (40901). */
  readonly ownLevel?: Level | null | undefined
}

/**
 * Changes members of a configuration: `compatibility` (the level, in any case) and those of MEMBERS. Null removes one.
 * Resolves with the members that were changed, as clients expect it.
 */
export async function putConfig(
  rooms: VerbRooms,
  name: string | null,
  sent: JsonObject,
  { ownLevel }: ExpectedConfig = {},
): Promise<JsonObject | RegistryRefusal> {
  return (await change(rooms, name, sent, { mayOnlyRepeat: false, ownLevel }))!
}

/** Like `putConfig`, if the level in force is all that is sent. Otherwise resolves with null and changes nothing. */
export async function repeatLevel(
  rooms: VerbRooms,
  name: string,
  sent: JsonObject,
): Promise<JsonObject | RegistryRefusal | null> {
  return await change(rooms, name, sent, { mayOnlyRepeat: true })
}

async function change(
  rooms: VerbRooms,
  name: string | null,
  sent: JsonObject,
  { mayOnlyRepeat, ownLevel }: ExpectedConfig & { readonly mayOnlyRepeat: boolean },
): Promise<JsonObject | RegistryRefusal | null> {
  const { state } = rooms
  const objection = name === null ? null : objectionToSubject(name)
  if (objection !== null) return objection
  const changed = changedMembers(sent)
  if (isRefusal(changed)) return changed
  const { compatibility, ...rest } = changed
  const answer = changed
  const decide = (now: Subject, global: Subject): SubjectChange<JsonObject | RegistryRefusal | null> => {
    if ((now.mode ?? global.mode) === 'READONLY') return { answer: refusals.readOnly(name) }
    if (ownLevel !== undefined && levelOf(now) !== ownLevel) return { answer: refusals.outdated() }
    const isRepetition = Object.keys(rest).length === 0 && compatibility === inForce(rooms, now, global).level
    if (mayOnlyRepeat && !isRepetition) return { answer: null }
    const config = { ...now.config, ...(compatibility !== undefined && { compatibilityLevel: compatibility }), ...rest }
    const kept = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null))
    if (JSON.stringify(kept) === JSON.stringify(now.config)) return { answer }
    return { answer, after: { ...now, config: kept } }
  }
  if (name === null) return await state.global.change(now => decide(now, now))
  return await state.subjects.change(name, async now => decide(now, await state.global.fresh()))
}

function changedMembers(sent: JsonObject): JsonObject | RegistryRefusal {
  const changed: Record<string, unknown> = {}
  const { compatibility } = sent
  if (compatibility !== undefined) {
    const level = typeof compatibility === 'string' ? compatibility.toUpperCase() : compatibility
    if (level !== null && !LEVELS.includes(level as Level)) return refusals.invalidLevel()
    changed.compatibility = level
  }
  for (const [member, type] of Object.entries(MEMBERS)) {
    const value = sent[member]
    if (value === undefined) continue
    if (value !== null && (typeof value !== type || Array.isArray(value)))
      return refusals.invalidConfig(`Invalid config: ${member} must be of type ${type}`)
    changed[member] = value
  }
  const policy = changed.compatibilityPolicy
  if (policy != null && !POLICIES.includes(policy))
    return refusals.invalidConfig('Invalid compatibility policy. Valid values are STRICT and LENIENT')
  if (isDeeperThan(changed, MOST_CONFIG_LEVELS) || Buffer.byteLength(JSON.stringify(changed)) > MOST_CONFIG_BYTES)
    return refusals.invalidConfig(
      `Invalid config: the most bytes are ${MOST_CONFIG_BYTES}, the most levels ${MOST_CONFIG_LEVELS}`,
    )
  return changed
}

/** Resolves with the configuration that was removed. */
export async function deleteConfig(
  { state, defaultLevel }: VerbRooms,
  name: string | null,
): Promise<JsonObject | RegistryRefusal> {
  const decide = (now: Subject, mode: Mode | null): SubjectChange<JsonObject | RegistryRefusal> => {
    if (mode === 'READONLY') return { answer: refusals.readOnly(name) }
    const isUnset = Object.keys(now.config).length === 0
    if (isUnset) return { answer: name === null ? globalConfig(now, defaultLevel) : refusals.subjectNotFound(name) }
    return { answer: name === null ? globalConfig(now, defaultLevel) : now.config, after: { ...now, config: {} } }
  }
  if (name === null) return await state.global.change(now => decide(now, now.mode))
  return await state.subjects.change(name, async now => decide(now, now.mode ?? (await state.global.fresh()).mode))
}

export async function getMode(
  { state }: VerbRooms,
  name: string | null,
  { isDefaultedToGlobal = false }: ScopeOptions = {},
): Promise<Mode | RegistryRefusal> {
  const its = name === null ? null : (await state.subjects.fresh(name)).mode
  if (its !== null) return its
  if (name !== null && !isDefaultedToGlobal) return refusals.noSubjectMode(name)
  return (await state.global.fresh()).mode ?? DEFAULT_MODE
}

/** Sets the mode. Mode IMPORT needs a subject without live versions, or `isForced`. */
export async function putMode(
  { state }: VerbRooms,
  name: string | null,
  sent: string,
  { isForced = false }: { readonly isForced?: boolean | undefined } = {},
): Promise<Mode | RegistryRefusal> {
  const objection = name === null ? null : objectionToSubject(name)
  if (objection !== null) return objection
  const named = sent.toUpperCase()
  if (named === 'FORWARD' || named === 'READONLY_OVERRIDE') return refusals.unsupportedMode(named)
  const mode = MODES.find(each => each === named)
  if (mode === undefined) return refusals.invalidMode()
  const isImport = mode === 'IMPORT' && !isForced
  const exists = refusals.notPermitted('Cannot import since found existing subjects; with force=true they may stay')
  const changeTo = (now: Subject) => (now.mode === mode ? { answer: mode } : { answer: mode, after: { ...now, mode } })
  if (name !== null) {
    return await state.subjects.change<Mode | RegistryRefusal>(name, now =>
      isImport && now.mode !== mode && latestLive(now) !== null ? { answer: exists } : changeTo(now),
    )
  }
  const hasLive = isImport && (await state.index.view()).all().some(each => latestLive(each) !== null)
  return await state.global.change<Mode | RegistryRefusal>(now =>
    hasLive && now.mode !== mode ? { answer: exists } : changeTo(now),
  )
}

/** Resolves with the mode that was removed. For all subjects, `isRecursive` removes those of single subjects too. */
export async function deleteMode(
  { state }: VerbRooms,
  name: string | null,
  { isRecursive = false }: { readonly isRecursive?: boolean | undefined } = {},
): Promise<Mode | RegistryRefusal> {
  if (name !== null) {
    return await state.subjects.change<Mode | RegistryRefusal>(name, now =>
      now.mode === null
        ? { answer: refusals.subjectNotFound(name) }
        : { answer: now.mode, after: { ...now, mode: null } },
    )
  }
  if (isRecursive) {
    for (const subject of (await state.index.view()).all())
      if (subject.mode !== null) await deleteMode({ state } as VerbRooms, subject.name)
  }
  return await state.global.change<Mode>(now =>
    now.mode === null ? { answer: DEFAULT_MODE } : { answer: now.mode, after: { ...now, mode: null } },
  )
}
