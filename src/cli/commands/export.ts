// Records of a topic as a file, on the standard output.

import { type Command, integerOption, segment, timestampOf, wordOption } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { withProgress } from '../progress.ts'
import { bytes } from '../table.ts'
import { DECODINGS } from './tail.ts'

const FORMATS = ['ndjson', 'csv'] as const
const ORDERS = ['oldest', 'newest'] as const
const EDGES = ['earliest', 'latest'] as const

export const exportCommands: readonly Command[] = [
  {
    name: 'export',
    doc: 'The records of a topic as NDJSON or CSV, up to where it ends at that moment.',
    args: [{ name: 'topic' }],
    options: {
      format: {
        value: 'as',
        doc: 'ndjson or csv; ndjson where it is not said, which ketch produce --ndjson takes back.',
      },
      partition: { value: 'n', doc: 'Only this partition.' },
      from: { value: 'place', doc: 'earliest or latest; earliest where nothing is said, latest with --order=newest.' },
      offset: { value: 'n', doc: 'Begins at this offset of each partition.' },
      timestamp: { value: 'time', doc: 'Begins at this time: ISO 8601, or milliseconds since 1970.' },
      order: { value: 'order', doc: 'oldest first, which is the default, or newest first.' },
      limit: { value: 'n', doc: 'Ends after so many records; after 10000000 in any case.' },
      contains: { value: 'text', doc: 'Only records whose key or value has this text.' },
      decode: { value: 'as', doc: `How values are read: ${DECODINGS.join(', ')}; utf8 where it is not said.` },
      'key-decode': { value: 'as', doc: 'The same for keys.' },
    },
    async run(call) {
      const { api, terminal } = call
      const timestamp = call.option('timestamp')
      const order = wordOption(call, 'order', ORDERS, 'oldest')
      const query = {
        format: wordOption(call, 'format', FORMATS, 'ndjson'),
        partition: integerOption(call, 'partition', 0),
        from: call.has('from') ? wordOption(call, 'from', EDGES, 'earliest') : undefined,
        offset: integerOption(call, 'offset', 0),
        timestamp: timestamp === undefined ? undefined : timestampOf(timestamp, '--timestamp'),
        order,
        limit: integerOption(call, 'limit', 1),
        contains: call.option('contains'),
        decode: wordOption(call, 'decode', DECODINGS, 'utf8'),
        keyDecode: wordOption(call, 'key-decode', DECODINGS, 'utf8'),
      }
      let written = 0
      const work = async () => {
        for await (const chunk of api.download(`/api/v1/topics/${segment(call.args[0]!)}/messages/export`, query)) {
          await terminal.write(chunk)
          written += chunk.length
        }
      }
      // Between records on a terminal a line that changes would be in the way.
      if (terminal.isOutSeen) await work()
      else await withProgress(call, seconds => `${bytes(written)} in ${seconds} s`, work())
      return EXIT.OK
    },
  },
]
