// Consumer groups on the command line.

import type { DescribedGroup, GroupList, ListedGroup, Reset, ResetRequestBody } from '../../api/groups.ts'
import { RESET_TARGETS } from '../../api/words.ts'
import { printable } from '../../base/printable.ts'
import { type Call, type Command, confirm, integerOption, segment, timestampOf, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { counted, list, table, time } from '../table.ts'

const groupPath = (group: string) => `/api/v1/groups/${segment(group)}`

function targetOf(call: Call): Pick<ResetRequestBody, 'to' | 'offset' | 'timestamp'> {
  const to = wordOption(call, 'to', RESET_TARGETS, 'clear')
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
    ['TOPIC', 'PARTITION', 'COMMITTED', 'DELIVERED', 'START', 'END', 'NEW OFFSET', 'MEMBER'],
    rows.map(each => [
      each.topic,
      each.partition,
      each.committedOffset,
      each.deliveredOffset,
      each.startOffset,
      each.endOffset,
      each.newOffset ?? 'forgotten',
      each.memberId,
    ]),
  )
}

export const groupCommands: readonly Command[] = [
  {
    name: 'groups list',
    doc: 'Lists the consumer groups of the whole cluster with their lag.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only groups whose id contains this text, in any case.' },
      state: { value: 'states', doc: 'Only groups in these states, separated by commas.' },
      topic: { value: 'topic', doc: 'Only groups that read this topic, with their lag in this topic.' },
    },
    async run(call) {
      const query = { q: call.option('filter'), state: call.option('state'), topic: call.option('topic') }
      const { rows: groups, last } = await everyRow<ListedGroup, GroupList>(call, '/api/v1/groups', 'groups', query)
      const { unavailableBrokers } = last
      for (const { brokerId, reason } of unavailableBrokers)
        call.terminal.err(`ketch: the groups of broker ${brokerId} are missing: ${printable(reason)}\n`)
      call.show({ groups, unavailableBrokers }, () =>
        table(
          ['GROUP', 'STATE', 'MEMBERS', 'LAG', 'MAX LAG', 'UNKNOWN', 'COORDINATOR', 'LAST COMMIT'],
          groups.map(({ groupId, state, members, topicLag, lag: total, coordinatorId }) => {
            const lag = topicLag ?? total
            return [
              groupId,
              state,
              members,
              lag.totalLag,
              lag.maxLag,
              lag.partitionsWithUnknownLag,
              coordinatorId,
              time(lag.lastCommitTimestamp),
            ]
          }),
        ),
      )
      return unavailableBrokers.length === 0 ? EXIT.OK : EXIT.UNAVAILABLE
    },
  },
  {
    name: 'groups describe',
    doc: 'Shows one group: its state, its members, and its position in each partition.',
    args: [{ name: 'group' }],
    options: {},
    async run(call) {
      const group = await call.api.get<DescribedGroup>(groupPath(call.args[0]!))
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
          each.startOffset,
          each.endOffset,
          each.lag,
          each.memberId === null ? null : (clients.get(each.memberId) ?? each.memberId),
        ])
        const headings = ['TOPIC', 'PARTITION', 'COMMITTED', 'DELIVERED', 'START', 'END', 'LAG', 'CLIENT']
        return `${facts}\n${rows.length === 0 ? 'The group has no position in any partition.\n' : table(headings, rows)}`
      })
      return EXIT.OK
    },
  },
  {
    name: 'groups reset',
    doc: 'Shows a preview of an offset reset and asks. After a yes it applies exactly the preview, or nothing. The group must have no members.',
    args: [{ name: 'group' }],
    options: {
      topic: { value: 'topic', doc: 'Only partitions of this topic; all topics by default.', isMany: true },
      to: {
        value: 'place',
        doc: `${RESET_TARGETS.join(', ')}; clear by default: consumers begin where their auto.offset.reset says.`,
      },
      offset: { value: 'n', doc: 'With --to=offset.' },
      timestamp: { value: 'time', doc: 'With --to=timestamp: ISO 8601, or milliseconds since 1970.' },
      'dry-run': { value: null, doc: 'Only shows the preview.' },
      yes: YES,
    },
    async run(call) {
      const path = `${groupPath(call.args[0]!)}/offsets/reset`
      const request: ResetRequestBody = {
        scope: { topics: [...call.options('topic')], partitions: [] },
        ...targetOf(call),
      }
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
    doc: 'Deletes a group without members, with its offsets.',
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
