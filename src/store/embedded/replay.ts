// Applies rounds that were read back, and says what a hole has damaged. A stream whose next append does not begin where
// the last known one ended has lost batches in between: it stays readable below and refuses appends. One that has no
// later append in the journal may have lost batches just as well, and is treated the same. Documents have versions that
// rise by one with each commit: a store that may have lost a commit is not opened, because what topics there are, which
// producer ids are taken and what groups have read would silently fall back.

import type { Contents, Effects, Stream } from './contents.ts'
import type { Entry } from './entry.ts'
import { fileName } from './journal.ts'
import type { Hole, RecoveredRound } from './recovery.ts'

export interface Replay {
  visit(round: RecoveredRound): void
  lost(hole: Hole): void
  /** Marks what may have been lost. Throws when that cannot be confined to streams. */
  finish(): void
}

export function replayInto(contents: Contents, report: (message: string) => void): Replay {
  /** The newest damage, and the round that is applied just now. */
  let where: string | null = null
  let here = ''
  let skipped = 0
  /** Streams that may have lost batches, and where. */
  const suspects = new Map<Stream, string>()
  /** Where a commit may have been lost, until the next commit shows that none was. */
  let commitsLost: string | null = null

  function damage(stream: Stream, message: string): void {
    suspects.delete(stream)
    if (stream.damage !== null) return
    stream.damage = { offset: stream.end, message }
    stream.dirty = true
    contents.dirtyStreams.add(stream)
    report(`stream ${stream.name} is damaged: ${message}`)
  }

  function suspect(appends: boolean, others: boolean): void {
    const place = where ?? here
    if (appends) for (const stream of contents.streams.values()) suspects.set(stream, place)
    if (others) commitsLost ??= place
  }

  /** Whether the entry can be applied; notes the damage that it shows. */
  function fits(entry: Entry): boolean {
    if (entry.type === 'move') return false // lmdb says where runs lie; a copy that it does not name is dead
    if (entry.type === 'create') return true
    if (entry.type === 'commit') {
      if (entry.version !== contents.lastVersion + 1) refuse(commitsLost ?? where ?? here)
      commitsLost = null
      return true
    }
    const stream = contents.streamsByNumber.get(entry.stream)
    if (stream === undefined) {
      skipped++
      return false
    }
    if (entry.type === 'remove') suspects.delete(stream)
    if (entry.type !== 'append' && entry.type !== 'open') return true
    // Opening may raise the end, but after a loss that is how the next append would seem to fit.
    const at = entry.type === 'append' ? entry.at : entry.end
    if (at === stream.end) suspects.delete(stream)
    else if (entry.type === 'append' || suspects.has(stream)) {
      const place = suspects.get(stream) ?? where ?? here
      damage(stream, `offsets ${stream.end} to ${at - 1} were in a part of the journal that is damaged (${place})`)
    }
    return true
  }

  function refuse(place: string): never {
    throw new Error(
      `${place} is damaged, and commits of topics, groups or producer ids were lost there or may have been; restore the folder from a copy`,
    )
  }

  return {
    visit(round) {
      here = `${fileName(round.file)} at ${round.position}`
      if (!round.intact) {
        where = here
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
      // A single entry that had batches was an append or a copy; one without was neither.
      if (!round.intact) suspect(round.lostPayload > 0, !(round.lostPayload > 0 && round.lostEntries === 1))
    },
    lost(hole) {
      where = `${fileName(hole.file)} at ${hole.position}`
      report(`damage: ${hole.rounds} round(s) of the journal from ${where} on cannot be read`)
      suspect(true, true)
    },
    finish() {
      if (commitsLost !== null) refuse(commitsLost)
      if (skipped > 0)
        report(`damage: ${skipped} entries belong to streams whose creation was lost (${where ?? 'unknown place'})`)
      for (const [stream, place] of suspects) {
        damage(
          stream,
          `batches from offset ${stream.end} on may have been in a part of the journal that is damaged (${place})`,
        )
      }
    },
  }
}
