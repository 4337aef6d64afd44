// The command that writes the records of a topic as a file to the standard output.

import { DECODINGS, EDGES, FILE_FORMATS, READING_ORDERS } from '../../api/words.ts'
import { type Command, integerOption, segment, timestampOf, wordOption } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { withProgressSignedIn } from '../progress.ts'
import { bytes } from '../table.ts'

export const exportCommands: readonly Command[] = [
  {
    name: 'export',
    doc: 'Writes the records of a topic as NDJSON or CSV, up to the end that the topic has at the start.',
    args: [{ name: 'topic' }],
    options: {
      format: {
        value: 'as',
        doc: 'ndjson or csv; ndjson by default. ketch produce --ndjson reads ndjson again.',
      },
      partition: { value: 'n', doc: 'Only this partition.' },
      from: { value: 'place', doc: 'earliest or latest; by default earliest, or latest with --order=newest.' },
      offset: { value: 'n', doc: 'Begins at this offset of each partition.' },
      timestamp: { value: 'time', doc: 'Begins at this time: ISO 8601, or milliseconds since 1970.' },
      order: { value: 'order', doc: 'oldest or newest: which records come first; oldest by default.' },
      limit: { value: 'n', doc: 'Ends after this many records, and after 10000000 in any case.' },
      contains: { value: 'text', doc: 'Only records whose key or value has this text.' },
      decode: { value: 'as', doc: `How the broker decodes values: ${DECODINGS.join(', ')}; utf8 by default.` },
      'key-decode': { value: 'as', doc: 'The same for keys.' },
    },
    async run(call) {
      const { api, terminal } = call
      const timestamp = call.option('timestamp')
      const order = wordOption(call, 'order', READING_ORDERS, 'oldest')
      const query = {
        format: wordOption(call, 'format', FILE_FORMATS, 'ndjson'),
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
      // On a terminal the progress line would stand between the records.
      if (terminal.isOutSeen) await work()
      else await withProgressSignedIn(call, seconds => `${bytes(written)} in ${seconds} s`, work)
      return EXIT.OK
    },
  },
]
