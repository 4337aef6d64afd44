// Switches one safeguard of the Redis store off in a broker that a test starts, so that chaos shows why the safeguard
// is needed. The product has no such switch. Node loads this file before the broker (`--import without.ts?wait`), and
// this file changes the text of the broker's modules. The broker ends unless each text occurs exactly once.

import { type Change, changeSource } from '../change-source.ts'

const LUA = 'src/store/redis/functions.ts'
const LUA_TEXT = "readFileSync(new URL('./functions.lua', import.meta.url), 'utf8')"
const LANE = 'src/log/lane.ts'
const STREAMS = 'src/store/redis/streams.ts'

/** A change of functions.lua, made where its text is read. */
function lua(...changes: readonly (readonly [text: string, instead: string])[]): Change {
  const replacements = changes.map(([text, instead]) => {
    const [from, to] = [JSON.stringify(text), JSON.stringify(instead)]
    return `.replace(${from}, found => { replaced.push(found); return ${to} })`
  })
  const check = `if (replaced.length !== ${changes.length}) throw new Error('functions.lua is not as without.ts expects')`
  return {
    file: LUA,
    text: `const source = ${LUA_TEXT}`,
    instead: `const replaced: string[] = []; const source = ${LUA_TEXT}${replacements.join('')}; ${check}`,
  }
}

/** The name of each safeguard, and the changes that switch it off. The comments say how the broker behaves then. */
const SAFEGUARDS: Readonly<Record<string, readonly Change[]>> = {
  /** The broker acknowledges a write without asking whether the replicas have it. */
  wait: [
    { file: 'src/store/redis/rounds.ts', text: 'if (replicas === 0) return', instead: 'if (replicas >= 0) return' },
  ],
  /** Consumers see every record in the log, confirmed or not. Producers are acknowledged as usual. */
  visibility: [
    {
      file: LANE,
      text: 'if (covered) state.highWatermark = highWatermark',
      instead: 'state.confirmed = highWatermark; state.highWatermark = end',
    },
    {
      file: LANE,
      text: 'if (pending.nextOffset <= highWatermark) {',
      instead: 'if (pending.nextOffset <= (this.#state.confirmed ?? highWatermark)) {',
    },
  ],
  /** After an append of unknown outcome the broker does not look for the batch, neither by its id nor at its offset. */
  attempt: [
    lua(['sealed, attempt, sizes, replid', "sealed, '', sizes, replid"]),
    { file: LANE, text: 'if (opened.end <= at) return false', instead: 'return false' },
  ],
  /** The server does not compare the number of entries before an append with the number that the leader expects. */
  arm: [
    lua(
      ['elseif before ~= tonumber(args[6]) then', 'elseif false then'],
      ['there ~= before + args[7]', 'there ~= args[6] + args[7]'],
    ),
  ],
  /** An append is written at the end that its leader assumes, even on a server that has lost data. */
  'compare-and-incarnation': [
    lua(
      ["elseif m[2] ~= args[2] or m[3] then no = {'misplaced', endOf(m[2])}", ''],
      ['elseif before ~= tonumber(args[6]) then', 'elseif false then'],
      ['epoch = epoch + 1000 --', '--'],
      ['if renewed and not isVouched and not isWhole then', 'if false then'],
    ),
    {
      file: STREAMS,
      text: "const isKnown = incarnation === '' ||",
      instead: 'const isKnown = true || ',
    },
  ],
  /** The broker uses offsets again that clients have seen and the store has lost. */
  floor: [
    { file: STREAMS, text: 'Math.max(floor, stream.told)', instead: '0' },
    { file: STREAMS, text: '[stream.told, this.#process,', instead: '[0, this.#process,' },
  ],
  /** Entries that a torn append leaves between two epochs stay, and readers see them. */
  voids: [
    lua(['swept = swept + sweep(', 'swept = swept + 0 * #tostring(']),
    { file: STREAMS, text: 'voids.length === 0 ||', instead: 'true ||' },
  ],
}

const name = new URL(import.meta.url).search.slice(1)
const changes = SAFEGUARDS[name]
if (changes === undefined) throw new Error(`no safeguard "${name}"; there are ${Object.keys(SAFEGUARDS).join(', ')}`)

changeSource(changes, 'without.ts')
