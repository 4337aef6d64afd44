// Consumer groups on the command line.

import { printable } from '../../base/printable.ts'
import { type Call, type Command, confirm, integerOption, segment, timestampOf, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { counted, list, table, time } from '../table.ts'

interface Lag {
  readonly totalLag: number | null
  readonly maxLag: number | null
  readonly partitionsWithUnknownLag: number
  readonly lastCommitTimestamp: number | null
}

interface Group {
  readonly groupId: string
  readonly state: string
  readonly coordinatorId: number
  readonly members: number | null
  readonly lag: Lag
}

interface Position {
  readonly topic: string
  readonly partition: number
  readonly memberId: string | null
  readonly committedOffset: number | null
  readonly deliveredOffset: number | null
  readonly endOffset: number | null
  readonly lag: number | null
}

interface Described extends Omit<Group, 'members'> {
  readonly protocolName: string | null
  readonly members: readonly { readonly memberId: string; readonly clientId: string; readonly host: string }[]
  readonly positions: readonly Position[]
}

interface GroupPage {
  readonly groups: readonly Group[]
  readonly total: number
  /** Brokers that do not say what they coordinate. */
  readonly unavailableBrokers: readonly { readonly brokerId: number; readonly reason: string }[]
}

interface Reset {
  readonly rows: readonly (Omit<Position, 'lag'> & { readonly newOffset: number | null })[]
  readonly blockedBy: { readonly code: string; readonly detail: string } | null
  readonly token: string | null
}

const TARGETS = ['clear', 'earliest', 'latest', 'offset', 'timestamp'] as const

const groupPath = (group: string) => `/api/v1/groups/${segment(group)}`

function targetOf(call: Call): object {
  const to = wordOption(call, 'to', TARGETS, 'clear')
  const offset = integerOption(call, 'offset', 0)
  const timestamp = call.option('timestamp')
  if ((to === 'offset') !== (offset !== undefined))
    throw new CommandFailed(EXIT.USAGE, '--to=offset goes with --offset=<n>')
  if ((to === 'timestamp') !== (timestamp !== undefined))
    throw new CommandFailed(EXIT.USAGE, '--to=timestamp goes with --timestamp=<time>')
  return {
    to,
    ...(offset === undefined ? {} : { offset }),
    ...(timestamp === undefined ? {} : { timestamp: timestampOf(timestamp, '--timestamp') }),
  }
}

function previewTable(rows: Reset['rows']): string {
  return table(
    ['TOPIC', 'PARTITION', 'COMMITTED', 'DELIVERED', 'END', 'NEW OFFSET', 'MEMBER'],
    rows.map(each => [
      each.topic,
      each.partition,
      each.committedOffset,
      each.deliveredOffset,
      each.endOffset,
      each.newOffset ?? 'forgotten',
      each.memberId,
    ]),
  )
}

export const groupCommands: readonly Command[] = [
  {
    name: 'groups list',
    doc: 'The consumer groups of the whole cluster, with how far they are behind.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only groups whose id has this text in it, in any case.' },
      state: { value: 'states', doc: 'Only groups in these states, with commas between.' },
    },
    async run(call) {
      const query = { q: call.option('filter'), state: call.option('state') }
      const { rows: groups, last } = await everyRow<Group, GroupPage>(call, '/api/v1/groups', 'groups', query)
      const { unavailableBrokers } = last
      for (const { brokerId, reason } of unavailableBrokers)
        call.terminal.err(`ketch: the groups of broker ${brokerId} are missing: ${printable(reason)}\n`)
      call.show({ groups, unavailableBrokers }, () =>
        table(
          ['GROUP', 'STATE', 'MEMBERS', 'LAG', 'MAX LAG', 'UNKNOWN', 'COORDINATOR', 'LAST COMMIT'],
          groups.map(({ groupId, state, members, lag, coordinatorId }) => [
            groupId,
            state,
            members,
            lag.totalLag,
            lag.maxLag,
            lag.partitionsWithUnknownLag,
            coordinatorId,
            time(lag.lastCommitTimestamp),
          ]),
        ),
      )
      return unavailableBrokers.length === 0 ? EXIT.OK : EXIT.UNAVAILABLE
    },
  },
  {
    name: 'groups describe',
    doc: 'One group: its state, its members, and where it is in each partition.',
    args: [{ name: 'group' }],
    options: {},
    async run(call) {
      const group = await call.api.get<Described>(groupPath(call.args[0]!))
      call.show(group, () => {
        const facts = list([
          ['group', group.groupId],
          ['state', group.state],
          ['protocol', group.protocolName],
          ['coordinator', group.coordinatorId],
          ['lag', group.lag.totalLag],
        ])
        const clients = new Map(group.members.map(({ memberId, clientId, host }) => [memberId, `${clientId} ${host}`]))
        const rows = group.positions.map(each => [
          each.topic,
          each.partition,
          each.committedOffset,
          each.deliveredOffset,
          each.endOffset,
          each.lag,
          each.memberId === null ? null : (clients.get(each.memberId) ?? each.memberId),
        ])
        const headings = ['TOPIC', 'PARTITION', 'COMMITTED', 'DELIVERED', 'END', 'LAG', 'CLIENT']
        return `${facts}\n${rows.length === 0 ? 'It has no position anywhere.\n' : table(headings, rows)}`
      })
      return EXIT.OK
    },
  },
  {
    name: 'groups reset',
    doc: 'Shows what a reset of offsets would do, and after a yes does exactly that, or nothing. Nobody may be in the group.',
    args: [{ name: 'group' }],
    options: {
      topic: { value: 'topic', doc: 'Only partitions of this topic; everything where it is not said.', isMany: true },
      to: {
        value: 'place',
        doc: `${TARGETS.join(', ')}; clear where it is not said: consumers begin where their auto.offset.reset says.`,
      },
      offset: { value: 'n', doc: 'With --to=offset.' },
      timestamp: { value: 'time', doc: 'With --to=timestamp: ISO 8601, or milliseconds since 1970.' },
      'dry-run': { value: null, doc: 'Only show it.' },
      yes: YES,
    },
    async run(call) {
      const path = `${groupPath(call.args[0]!)}/offsets/reset`
      const request = { scope: { topics: call.options('topic'), partitions: [] }, ...targetOf(call) }
      const preview = await call.api.post<Reset>(path, { ...request, dryRun: true })
      if (call.has('dry-run') || preview.blockedBy !== null) {
        call.show(preview, () => previewTable(preview.rows))
        if (preview.blockedBy === null) return EXIT.OK
        throw new CommandFailed(EXIT.REFUSED, `${preview.blockedBy.detail} [${preview.blockedBy.code}]`)
      }
      if (!call.isJson) call.terminal.err(previewTable(preview.rows))
      if (!(await confirm(call, `Reset ${counted(preview.rows.length, 'position')}?`))) return EXIT.OK
      const applied = await call.api.post<Reset>(path, { ...request, token: preview.token })
      call.show(applied, () => `Reset ${counted(applied.rows.length, 'position')}.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'groups delete',
    doc: 'Deletes a group that nobody is in, with its offsets.',
    args: [{ name: 'group' }],
    options: { yes: YES },
    async run(call) {
      const [group] = call.args
      const path = groupPath(group!)
      if (!(await confirm(call, `Delete the group ${group} with its offsets?`))) return EXIT.OK
      await call.api.delete(path)
      call.show({ deleted: [group] }, () => `${group} is deleted.\n`)
      return EXIT.OK
    },
  },
]
