// The storage worker on the command line.

import type { StartedRound } from '../../api/storage.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { table } from '../table.ts'

export const storageCommands: readonly Command[] = [
  {
    name: 'storage run',
    doc: 'Starts a round of the storage worker, or joins the one in progress: it rolls segments, drops old data, cleans compacted topics and offloads segments on all brokers. The exit status is 1 if a broker did not run its part.',
    args: [],
    options: {},
    async run(call) {
      const { round } = await call.api.post<StartedRound>('/api/v1/storage/worker/run')
      const { number, tookMs, brokers } = round
      call.show(round, () => {
        const ending = tookMs === null ? 'goes on' : `took ${Math.round(tookMs)} ms`
        const rows = brokers.map(each => [
          String(each.id),
          each.outcome,
          ...[
            each.partitions,
            each.rolled,
            each.droppedBytes,
            each.due,
            each.cleaned,
            each.cleanedBytes,
            each.failures,
          ].map(String),
          each.trouble ?? '',
        ])
        const parts =
          rows.length === 0 ? 'No broker leads a partition, so there was nothing to do.\n' : table(HEADINGS, rows)
        return `Round ${number} ${ending}.\n\n${parts}`
      })
      return brokers.every(({ outcome }) => outcome === 'done' || outcome === 'running') ? EXIT.OK : EXIT.REFUSED
    },
  },
]

const HEADINGS = [
  ...['BROKER', 'OUTCOME', 'PARTITIONS', 'ROLLED', 'DROPPED BYTES'],
  ...['TO CLEAN', 'CLEANED', 'FREED BYTES', 'FAILURES', 'TROUBLE'],
]
