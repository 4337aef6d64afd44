// Subjects with the settings in force and the references to them, for operators. Clients get the narrower answers of
// lists.ts.

import { UnreadableDocument } from '../../store/store.ts'
import type { SchemaType } from '../format.ts'
import { type Level, levelOf, type Mode, type Subject } from '../state/subject.ts'
import { inForce } from './compatibility.ts'
import { DEFAULT_MODE } from './configs.ts'
import { contentOf } from './dependencies.ts'
import type { VerbRooms } from './rooms.ts'

/** A level and a mode; of a subject, or of all subjects that have none of their own. */
export interface SettingsNow {
  /** In force. */
  readonly level: Level
  /** Null if it comes from elsewhere. */
  readonly ownLevel: Level | null
  readonly mode: Mode
  readonly ownMode: Mode | null
}

export interface Surveyed extends SettingsNow {
  readonly subject: Subject
}

export interface SurveyOfOne extends Surveyed {
  readonly global: SettingsNow
  /** The level and the mode while no operator has set any. */
  readonly fallback: Pick<SettingsNow, 'level' | 'mode'>
}

/** A version that refers to version `refersTo` of another subject, or of the same one. */
export interface ReferringVersion {
  readonly subject: string
  readonly version: number
  readonly id: number
  readonly isDeleted: boolean
  readonly refersTo: number
}

/** Resolves with all subjects in the order of their names, also those that have only a level or a mode. */
export async function surveyAll(
  rooms: VerbRooms,
): Promise<{ readonly subjects: readonly Surveyed[]; readonly global: SettingsNow }> {
  const { state } = rooms
  const [view, global] = await Promise.all([state.index.view(), state.global.fresh()])
  const subjects = view.all().filter(hasAnything)
  return { subjects: subjects.map(subject => surveyed(rooms, subject, global)), global: globalNow(rooms, global) }
}

/** Resolves with one subject, which may have neither versions nor settings. */
export async function surveyOne(rooms: VerbRooms, name: string): Promise<SurveyOfOne> {
  const { subject, global } = await rooms.state.fresh(name)
  return { ...surveyed(rooms, subject, global), global: globalNow(rooms, global), fallback: fallbackOf(rooms) }
}

/** Resolves with the global settings. */
export async function surveyGlobal(
  rooms: VerbRooms,
): Promise<SettingsNow & { readonly fallback: Pick<SettingsNow, 'level' | 'mode'> }> {
  return { ...globalNow(rooms, await rooms.state.global.fresh()), fallback: fallbackOf(rooms) }
}

/** Resolves with the versions that refer directly to a version of the subject, deleted ones included. */
export async function referrersTo({ state }: VerbRooms, name: string): Promise<readonly ReferringVersion[]> {
  const view = await state.index.view()
  const found: ReferringVersion[] = []
  for (const subject of view.all()) {
    for (const { version, id, isDeleted, references } of subject.versions) {
      const numbers = new Set(references.filter(([referred]) => referred === name).map(([, number]) => number))
      for (const refersTo of numbers) found.push({ subject: subject.name, version, id, isDeleted, refersTo })
    }
  }
  return found
}

/** Resolves with the format of a stored schema; null if its document cannot be read. Throws what the store throws. */
export async function typeOfSchema({ state }: VerbRooms, guid: string): Promise<SchemaType | null> {
  try {
    return (await contentOf(state, guid)).type
  } catch (error) {
    // The list shows its other rows. The state names the document in the log and in the health of the store.
    if (error instanceof UnreadableDocument) return null
    throw error
  }
}

/** A subject whose first registration was fenced, and not repeated, has nothing (reference-holds.ts). */
function hasAnything({ versions, config, mode }: Subject): boolean {
  return versions.length > 0 || mode !== null || Object.keys(config).length > 0
}

function surveyed(rooms: VerbRooms, subject: Subject, global: Subject): Surveyed {
  return {
    subject,
    level: inForce(rooms, subject, global).level,
    ownLevel: levelOf(subject),
    mode: subject.mode ?? global.mode ?? DEFAULT_MODE,
    ownMode: subject.mode,
  }
}

function globalNow(rooms: VerbRooms, global: Subject): SettingsNow {
  const { subject: _, ...settings } = surveyed(rooms, global, global)
  return settings
}

function fallbackOf({ defaultLevel }: VerbRooms): Pick<SettingsNow, 'level' | 'mode'> {
  return { level: defaultLevel, mode: DEFAULT_MODE }
}
