// Applies rounds that were read back, and says which streams a hole has damaged. A stream whose next append does not
// begin where the last known one ended has lost batches in between: it stays readable below and refuses appends.

import type { Contents, Effects, Stream } from './contents.ts'
import type { Entry } from './entry.ts'
import { fileName } from './journal.ts'
import type { Hole, RecoveredRound } from './recovery.ts'

export interface Replay {
  visit(round: RecoveredRound): void
  lost(hole: Hole): void
  /** Says what could not be attributed. */
  finish(): void
}

export function replayInto(contents: Contents, report: (message: string) => void): Replay {
  let where: string | null = null
  let attributed = 0
  let skipped = 0

  function damage(stream: Stream, offset: number, message: string): void {
    attributed++
    if (stream.damage !== null) return
    stream.damage = { offset, message }
    report(`stream ${stream.name} is damaged: ${message}`)
  }

  /** Whether the entry can be applied; notes the damage that it shows. */
  function fits(entry: Entry): boolean {
    if (entry.type === 'move') return false // lmdb says where runs lie; a copy that it does not name is dead
    if (entry.type === 'create' || entry.type === 'commit') return true
    const stream = contents.streamsByNumber.get(entry.stream)
    if (stream === undefined) {
      skipped++
      return false
    }
    if (entry.type === 'append' && entry.at !== stream.end) {
      const message = `offsets ${stream.end} to ${entry.at - 1} were in a part of the journal that is damaged (${where ?? 'unknown place'})`
      damage(stream, stream.end, message)
    }
    return true
  }

  return {
    visit(round) {
      if (!round.intact) {
        where = `${fileName(round.file)} at ${round.position}`
        report(`damage: entries of the round in ${where} cannot be read`)
      }
      const effects: Effects = { file: round.file, payloadBytes: 0, runs: [], undo: [], reveal: [] }
      for (const entry of round.entries) {
        if (!fits(entry)) continue
        if (entry.type === 'append') effects.payloadBytes = entry.payloadAt!
        contents.apply(entry, effects)
      }
      for (const run of effects.runs) run.position += round.payload
      for (const reveal of effects.reveal) reveal()
    },
    lost(hole) {
      where = `${fileName(hole.file)} at ${hole.position}`
      report(`damage: ${hole.rounds} round(s) of the journal from ${where} on cannot be read`)
    },
    finish() {
      if (where === null) return
      if (skipped > 0) report(`damage: ${skipped} entries belong to streams whose creation was lost`)
      if (attributed === 0) report(`damage: what was lost in ${where} cannot be attributed to any stream`)
    },
  }
}
