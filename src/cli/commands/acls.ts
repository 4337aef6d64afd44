// The commands for ACL rules. A rule allows a principal an operation; no rule denies one.

import type { AclList, AclRule, GrantedAcl, NewAcl } from '../../api/acls.ts'
import { OPERATIONS } from '../../api/words.ts'
import { printable } from '../../base/printable.ts'
import { type Call, type Command, confirm, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { table } from '../table.ts'

const RESOURCE = {
  topic: { value: 'name', doc: 'A topic, a prefix with * at its end, or * for all.' },
  group: { value: 'id', doc: 'A consumer group, a prefix with * at its end, or * for all.' },
  operation: { value: 'what', doc: 'READ or WRITE. For a group READ allows to consume in it, and WRITE to delete it.' },
}

function ruleOf(call: Call): AclRule {
  const [topic, group] = [call.option('topic'), call.option('group')]
  if ((topic === undefined) === (group === undefined))
    throw new CommandFailed(EXIT.USAGE, 'a rule takes one resource: --topic=<name> or --group=<id>')
  if (!call.has('operation')) throw new CommandFailed(EXIT.USAGE, '--operation is missing; takes READ or WRITE')
  return {
    principal: call.args[0]!,
    resourceType: topic === undefined ? 'GROUP' : 'TOPIC',
    resource: (topic ?? group)!,
    operation: wordOption(call, 'operation', OPERATIONS, 'READ'),
  }
}

function sentence({ principal, resourceType, resource, operation }: AclRule): string {
  return `${principal}: ${operation} on ${resourceType.toLowerCase()} ${resource}`
}

export const aclCommands: readonly Command[] = [
  {
    name: 'acls list',
    doc: 'Lists the rules of one principal, or of all.',
    args: [{ name: 'principal', isOptional: true }],
    options: {},
    async run(call) {
      const query = { principal: call.args[0] }
      const { rows: rules, last } = await everyRow<AclRule, AclList>(call, '/api/v1/acls', 'rules', query)
      for (const principal of last.unreadable)
        call.terminal.err(`ketch: the rules of ${printable(principal)} have a form that this version cannot read\n`)
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
    doc: 'Grants a principal (a user name, or group:<name> of an identity provider) an operation. Open connections keep their rules.',
    args: [{ name: 'principal' }],
    options: RESOURCE,
    async run(call) {
      const rule = ruleOf(call)
      const made = await call.api.post<GrantedAcl>('/api/v1/acls', rule satisfies NewAcl)
      if (made.notice !== null) call.terminal.err(`ketch: ${made.notice}\n`)
      call.show(made, () => `${sentence(rule)} is granted to connections that begin from now on.\n`)
      return EXIT.OK
    },
  },
  {
    name: 'acls delete',
    doc: 'Takes a rule back. Open connections keep their rules.',
    args: [{ name: 'principal' }],
    options: { ...RESOURCE, yes: YES },
    async run(call) {
      const rule = ruleOf(call)
      if (!(await confirm(call, `Take back ${sentence(rule)}?`))) return EXIT.OK
      const { principal, ...query } = rule
      await call.api.delete(`/api/v1/acls/${segment(principal)}`, query)
      call.show({ deleted: [rule] }, () => `${sentence(rule)} is taken back from connections that begin from now on.\n`)
      return EXIT.OK
    },
  },
]
