// Grants access as a sentence: who may do what with which topic or group. The two presets grant what a producer and
// what a consumer need.

import { useState } from 'react'
import type { NewAcl } from '../../../src/api/acls.ts'
import { unplaced } from '../../api/problem.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { SelectField, TextField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'

const KINDS = [
  ['produce', 'Produce to a topic'],
  ['consume', 'Consume a topic with a group'],
  ['read-topic', 'Read a topic'],
  ['write-topic', 'Write a topic'],
  ['read-group', 'Read with a group'],
] as const
type Kind = (typeof KINDS)[number][0]

interface Wanted {
  readonly principal: string
  readonly topic: string
  readonly group: string
}

/** Returns the rules that the sentence stands for. */
export function rulesOf(kind: Kind, { principal, topic, group }: Wanted): readonly NewAcl[] {
  const onTopic = (operation: 'READ' | 'WRITE') => ({
    principal,
    resourceType: 'TOPIC' as const,
    resource: topic,
    operation,
  })
  const onGroup = { principal, resourceType: 'GROUP' as const, resource: group, operation: 'READ' as const }
  switch (kind) {
    case 'produce':
    case 'write-topic':
      return [onTopic('WRITE')]
    case 'consume':
      return [onTopic('READ'), onGroup]
    case 'read-topic':
      return [onTopic('READ')]
    case 'read-group':
      return [onGroup]
  }
}

interface GrantDialogProps {
  readonly onClose: () => void
  readonly onGranted: (principal: string) => void
}

export function GrantDialog({ onClose, onGranted }: GrantDialogProps) {
  const [kind, setKind] = useState<Kind>('produce')
  const [principal, setPrincipal] = useState('')
  const [topic, setTopic] = useState('')
  const [group, setGroup] = useState('')
  const { run, isBusy, problem } = useChange('create acl')
  const rules = rulesOf(kind, { principal, topic, group })
  const usesTopic = rules.some(({ resourceType }) => resourceType === 'TOPIC')
  const usesGroup = rules.some(({ resourceType }) => resourceType === 'GROUP')
  const isReady = principal !== '' && (!usesTopic || topic !== '') && (!usesGroup || group !== '')
  const submit = async () => {
    // Each rule is good alone, and granting a rule twice changes nothing: after a failure the form sends all again.
    const notices = new Set<string>()
    for (const body of rules) {
      const granted = await run({ body })
      if (granted === null) return
      if (granted.answer.notice !== null) notices.add(granted.answer.notice)
    }
    toast(`Granted ${counted(rules.length, 'rule')} to ${principal}. ${[...notices].join(' ')}`.trim())
    onGranted(principal)
    onClose()
  }
  const objection = problem?.fields ?? {}
  return (
    <FormDialog
      operation="create acl"
      title="Grant access"
      verb="Grant"
      isReady={isReady}
      isBusy={isBusy}
      problem={unplaced(problem)}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Allow"
        value={principal}
        onChange={setPrincipal}
        error={objection.principal}
        hint="A user name, or group:<name> for a group of access tokens."
        autoComplete="off"
        spellCheck={false}
        required
      />
      <SelectField
        label="To"
        value={kind}
        options={KINDS}
        onChange={text => setKind(KINDS.find(([each]) => each === text)![0])}
      />
      {usesTopic && (
        <TextField
          label="Topic"
          value={topic}
          onChange={setTopic}
          error={usesGroup ? undefined : objection.resource}
          hint={<Matches resource={topic} of="topic" />}
          autoComplete="off"
          spellCheck={false}
          isMono
          required
        />
      )}
      {usesGroup && (
        <TextField
          label="Group"
          value={group}
          onChange={setGroup}
          error={objection.resource}
          hint={<Matches resource={group} of="group" />}
          autoComplete="off"
          spellCheck={false}
          isMono
          required
        />
      )}
      <p className="mt-3 text-muted">
        {rules.map(({ operation, resourceType, resource }) => (
          <span key={`${operation} ${resourceType}`} className="block">
            Rule: {operation} on the {resourceType?.toLowerCase()}{' '}
            {resource === undefined || resource === '' ? '…' : resource}
          </span>
        ))}
        Open connections keep the rules that they began with.
      </p>
    </FormDialog>
  )
}

/** Says how many topics or groups the resource covers today, because a prefix also covers all that come. */
function Matches({ resource, of }: { readonly resource: string; readonly of: 'topic' | 'group' }) {
  const isPrefix = resource.endsWith('*')
  const text = isPrefix ? resource.slice(0, -1) : resource
  const isWanted = resource !== ''
  const topics = useRead(
    'list topics',
    { query: { q: text, fields: 'name' } },
    { isWanted: isWanted && of === 'topic', everyMs: 0 },
  )
  const groups = useRead(
    'list groups',
    { query: { q: text, limit: 1_000 } },
    { isWanted: isWanted && of === 'group', everyMs: 0 },
  )
  if (!isWanted) return <>A name, the beginning of names followed by *, or * for all.</>
  const names =
    of === 'topic' ? topics.data?.topics.map(({ name }) => name) : groups.data?.groups.map(({ groupId }) => groupId)
  if (names === undefined) return <>Looking for matches …</>
  const found = names.filter(name => (isPrefix ? name.startsWith(text) : name === resource)).length
  return (
    <>
      Matches {counted(found, of)} today.{isPrefix && ` It also covers every ${of} that gets such a name later.`}
    </>
  )
}
