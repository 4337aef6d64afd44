// ACL rules on the command line: what a principal may do. There are no rules that deny.

import { printable } from '../../base/printable.ts'
import { type Call, type Command, confirm, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

interface Rule {
  readonly principal: string
  readonly resourceType: string
  readonly resource: string
  readonly operation: string
}

interface RulePage {
  readonly rules: readonly Rule[]
  readonly total: number
  readonly unreadable: readonly string[]
}

const OPERATIONS = ['READ', 'WRITE'] as const

const RESOURCE = {
  topic: { value: 'name', doc: 'A topic, a prefix with * at its end, or * for all.' },
  group: { value: 'id', doc: 'A consumer group, a prefix with * at its end, or * for all.' },
  operation: { value: 'what', doc: 'READ or WRITE; of a group only READ means something.' },
}

function ruleOf(call: Call): Rule {
  const [topic, group] = [call.option('topic'), call.option('group')]
  if ((topic === undefined) === (group === undefined))
    throw new CommandFailed(EXIT.USAGE, 'a rule is of one resource: --topic=<name> or --group=<id>')
  if (!call.has('operation')) throw new CommandFailed(EXIT.USAGE, '--operation is missing; takes READ or WRITE')
  return {
    principal: call.args[0]!,
    resourceType: topic === undefined ? 'GROUP' : 'TOPIC',
    resource: (topic ?? group)!,
    operation: wordOption(call, 'operation', OPERATIONS, 'READ'),
  }
}

function sentence({ principal, resourceType, resource, operation }: Rule): string {
  return `${principal}: ${operation} on ${resourceType.toLowerCase()} ${resource}`
}

export const aclCommands: readonly Command[] = [
  {
    name: 'acls list',
    doc: 'The rules of a principal, or of all of them.',
    args: [{ name: 'principal', isOptional: true }],
    options: {},
    async run(call) {
      const query = { principal: call.args[0] }
      const { rows: rules, last } = await everyRow<Rule, RulePage>(call, '/api/v1/acls', 'rules', query)
      for (const principal of last.unreadable)
        call.terminal.err(`ketch: the rules of ${printable(principal)} are not in a form that is read here\n`)
      call.show({ rules }, () =>
        table(
          ['PRINCIPAL', 'RESOURCE TYPE', 'RESOURCE', 'OPERATION'],
          rules.map(each => [each.principal, each.resourceType, each.resource, each.operation]),
        ),
      )
      return EXIT.OK
    },
  },
  {
    name: 'acls create',
    doc: 'Grants a principal (a user name, or group:<name> of an identity provider) an operation. Open connections keep what they had.',
    args: [{ name: 'principal' }],
    options: RESOURCE,
    async run(call) {
      const rule = ruleOf(call)
      const made = await call.api.post('/api/v1/acls', rule)
      call.show(made, () => `${sentence(rule)} is granted.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'acls delete',
    doc: 'Takes a grant back. Open connections keep what they had.',
    args: [{ name: 'principal' }],
    options: { ...RESOURCE, yes: YES },
    async run(call) {
      const rule = ruleOf(call)
      if (!(await confirm(call, `Take back ${sentence(rule)}?`))) return EXIT.OK
      const { principal, ...query } = rule
      await call.api.delete(`/api/v1/acls/${segment(principal)}`, query)
      call.show({ deleted: [rule] }, () => `${sentence(rule)} is taken back.\n`)
      return EXIT.OK
    },
  },
]
