// Applies the rounds that recovery found, and reports the damage of a hole. If the next append of a stream does not
// begin at its last known end, the stream has lost batches: it stays readable below the loss and refuses appends. A
// stream without a later append in the journal may have lost batches too, and is treated the same. Rewrites behind a
// loss are left out: each goes on where an earlier one ended, and that one may be lost. Document versions rise by one
// with each commit. If the store may have lost a commit, it is not opened: otherwise the list of topics, the used
// producer ids and the committed offsets would silently be out of date.

import type { Contents, Effects, Stream } from './contents.ts'
import type { Entry } from './entry.ts'
import { fileName } from './journal.ts'
import type { Hole, RecoveredRound } from './recovery.ts'

export interface Replay {
  visit(round: RecoveredRound): void
  lost(hole: Hole): void
  /** Marks the streams that may have lost batches. Throws if a commit may have been lost. */
  finish(): void
}

export function replayInto(contents: Contents, report: (message: string) => void): Replay {
  /** The position of the newest damage, and of the round that is being applied. */
  let where: string | null = null
  let here = ''
  let skipped = 0
  /** The streams that may have lost batches, and the position of the damage. */
  const suspects = new Map<Stream, string>()
  /** The position at which a commit may have been lost; null after the next commit has shown that none was lost. */
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

  /** Returns true if the entry can be applied. Records the damage that the entry reveals. */
  function fits(entry: Entry): boolean {
    if (entry.type === 'move') return false // lmdb has the positions of runs; a copy that it does not name is dead
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
    // Without it the stream has the batches and rows from before, among them how far its log was cleaned. They still
    // exist, because the checkpoint is older than the loss. So the cleaner does its work once more.
    if (entry.type === 'rewrite') return where === null
    if (entry.type !== 'append' && entry.type !== 'open') return true
    // An opening may raise the end. After a loss, that would hide the loss: the next append would seem to fit.
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
        if (entry.type === 'append' || entry.type === 'rewrite') effects.payloadBytes = entry.payloadAt!
        contents.apply(entry, effects)
      }
      for (const run of effects.runs) run.position += round.payload
      for (const reveal of effects.reveal) reveal()
      // A lost single entry with batches was an append, a rewrite or a copy; without batches it was neither.
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
