// Reads the schema registry on the command line: subjects, versions, differences, and the topics that are judged.

import type { JudgedPart, JudgedTopic, JudgedTopics, SchemaPartRule } from '../../api/judged-topics.ts'
import { placeInWords } from '../../api/schema-words.ts'
import type {
  DescribedSchemaSubject,
  SchemaById,
  SchemaDiff,
  SchemaDirection,
  SchemaReason,
  SchemaReference,
  SchemaSubject,
  SchemaSubjects,
  SchemaVersion,
} from '../../api/schemas.ts'
import { DELETED_CHOICES } from '../../api/words.ts'
import { printable, printableLines } from '../../base/printable.ts'
import { type Call, type Command, integerOption, segment, wordOption } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { everyRow } from '../pages.ts'
import { list, table } from '../table.ts'
import { unifiedDiff } from '../unified-diff.ts'

export const SCHEMAS = '/api/v1/schemas'

export const subjectPath = (subject: string) => `${SCHEMAS}/subjects/${segment(subject)}`

/** A version as the API takes it. Other texts are refused there. */
const versionPath = (subject: string, version: string) => `${subjectPath(subject)}/versions/${segment(version)}`

export const schemaCommands: readonly Command[] = [
  {
    name: 'schemas list',
    doc: 'Lists the subjects of the schema registry, with their newest version, level and mode.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only subjects whose name contains this text, in any case.' },
      deleted: { value: 'choice', doc: 'hide, show or only: whether deleted subjects are listed; hide by default.' },
    },
    async run(call) {
      const query = { q: call.option('filter'), deleted: wordOption(call, 'deleted', DELETED_CHOICES, 'hide') }
      const { rows } = await everyRow<SchemaSubject, SchemaSubjects>(call, `${SCHEMAS}/subjects`, 'subjects', query)
      call.show({ subjects: rows }, () => (rows.length === 0 ? noSubjects(query) : subjectTable(rows)))
      return EXIT.OK
    },
  },
  {
    name: 'schemas show',
    doc: 'Shows a subject with its versions, or the text of one version: a number, or latest. With --id it shows the schema of an id.',
    args: [
      { name: 'subject', isOptional: true },
      { name: 'version', isOptional: true },
    ],
    options: {
      id: { value: 'id', doc: 'The id of a schema, in place of a subject.' },
      text: { value: null, doc: 'Prints only the text, as it is stored.' },
    },
    async run(call) {
      const [subject, version] = call.args
      const id = integerOption(call, 'id', 1)
      if ((subject === undefined) === (id === undefined))
        throw new CommandFailed(
          EXIT.USAGE,
          `name a subject${id === undefined ? ', or' : ' or'} give --id${id === undefined ? '' : ', not both'}`,
        )
      if (call.has('text') && version === undefined && id === undefined)
        throw new CommandFailed(EXIT.USAGE, '--text needs a version: a number, or latest')
      if (id !== undefined) {
        const found = await call.api.get<SchemaById>(`${SCHEMAS}/ids/${id}`)
        call.show(found, () => (call.has('text') ? storedText(call, found) : idText(found)))
      } else if (version !== undefined) {
        const found = await call.api.get<SchemaVersion>(versionPath(subject!, version))
        call.show(found, () => (call.has('text') ? storedText(call, found) : versionText(found)))
      } else {
        const { rows, last } = await everyRow<DescribedSchemaSubject['versions'][number], DescribedSchemaSubject>(
          call,
          subjectPath(subject!),
          'versions',
        )
        const found = { ...last, versions: [...rows] }
        call.show(found, () => subjectText(found))
      }
      return EXIT.OK
    },
  },
  {
    name: 'schemas diff',
    doc: 'Shows how two versions of a subject differ, and whether each reads what the other one writes. By default it compares the latest version with the one before.',
    args: [{ name: 'subject' }, { name: 'from', isOptional: true }, { name: 'to', isOptional: true }],
    options: {},
    async run(call) {
      const [subject, from, to = 'latest'] = call.args
      const found = await call.api.get<SchemaDiff>(`${versionPath(subject!, to)}/diff`, { against: from })
      call.show(found, () => diffText(found))
      return EXIT.OK
    },
  },
  {
    name: 'schemas topics',
    doc: 'Lists the topics whose records are judged by their schemas, and how many records were not valid since the broker started.',
    args: [],
    options: {
      filter: { value: 'text', doc: 'Only topics whose name contains this text, in any case.' },
      all: { value: null, doc: 'Lists the topics that are not judged too.' },
    },
    async run(call) {
      const query = { q: call.option('filter'), all: String(call.has('all')) }
      const { rows } = await everyRow<JudgedTopic, JudgedTopics>(call, `${SCHEMAS}/topics`, 'topics', query)
      call.show({ topics: rows }, () => (rows.length === 0 ? noTopics(call) : topicTable(rows)))
      return EXIT.OK
    },
  },
]

function noSubjects({ q, deleted }: { readonly q: string | undefined; readonly deleted: string | undefined }): string {
  if (q !== undefined || (deleted ?? 'hide') !== 'hide') return 'There are no such subjects.\n'
  return 'There are no subjects. ketch schemas register makes one; --deleted=show lists deleted ones.\n'
}

function noTopics(call: Call): string {
  if (call.has('all')) return call.has('filter') ? 'There are no such topics.\n' : 'There are no topics.\n'
  if (call.has('filter')) return 'No such topic is judged.\n'
  return 'No topic is judged: a topic is, once its subject has a version, such as orders-value for the values of orders.\n'
}

function subjectTable(rows: readonly SchemaSubject[]): string {
  return table(
    ['SUBJECT', 'TYPE', 'VERSION', 'ID', 'VERSIONS', 'LEVEL', 'MODE', 'TOPICS', 'NOTE'],
    rows.map(each => [
      each.subject,
      each.type,
      each.latestVersion,
      each.latestId,
      each.versionCount,
      each.level,
      each.mode,
      each.topics.map(topicPart).join(', '),
      noteOf(each),
    ]),
  )
}

function noteOf({ deleted, deletedVersionCount, versionCount }: SchemaSubject): string {
  if (deleted) return 'deleted'
  if (versionCount === 0) return 'has no versions'
  return deletedVersionCount === 0 ? '' : `${deletedVersionCount} deleted`
}

export function topicPart({ topic, part, action }: JudgedPart): string {
  return `${topic} (${part}${action === 'count' ? ', only counted' : ''})`
}

function subjectText(found: DescribedSchemaSubject): string {
  const facts = list([
    ['subject', found.subject],
    ['type', found.type],
    ['latest version', found.latestVersion],
    ['level', `${found.level}${found.ownLevel === null ? ' (not its own)' : ''}`],
    ['mode', `${found.mode}${found.ownMode === null ? ' (not its own)' : ''}`],
    ['judges', found.topics.map(topicPart).join(', ')],
  ])
  if (found.versions.length === 0) return `${facts}\nThe subject has no versions.\n`
  const rows = found.versions.map(each => [
    each.version,
    each.id,
    each.registeredAt,
    each.references.map(({ subject, version }) => `${subject}:${version}`).join(', '),
    each.referrerCount,
    each.deleted ? 'deleted' : '',
  ])
  return `${facts}\n${table(['VERSION', 'ID', 'REGISTERED', 'REFERS TO', 'REFERRERS', 'NOTE'], rows)}`
}

function versionText(found: SchemaVersion): string {
  const facts = list([
    ['subject', found.subject],
    ['version', found.version],
    ['id', found.id],
    ['type', found.type],
    ['registered', found.registeredAt],
    ['deleted', found.deleted ? 'yes' : 'no'],
    ['refers to', found.references.map(referenceText).join(', ')],
    ['referrers', found.referrers.map(({ subject, version }) => `${subject}:${version}`).join(', ')],
  ])
  return `${facts}\n${lines(found.pretty)}`
}

function idText(found: SchemaById): string {
  const facts = list([
    ['id', found.id],
    ['type', found.type],
    ['refers to', found.references.map(referenceText).join(', ')],
    [
      'versions',
      found.usedBy
        .map(({ subject, version, deleted }) => `${subject}:${version}${deleted ? ' (deleted)' : ''}`)
        .join(', '),
    ],
  ])
  return `${facts}\n${lines(found.pretty)}`
}

function referenceText({ name, subject, version }: SchemaReference): string {
  return `${name} (${subject}:${version})`
}

/** A pipe gets the bytes of the text. A terminal must not be moved by them. */
function storedText({ terminal }: Call, { schema }: { readonly schema: string }): string {
  return terminal.isOutSeen ? lines(schema) : `${schema}\n`
}

/** Returns the text of a schema for a terminal. */
function lines(text: string): string {
  return `${printableLines(text.replace(/\n$/, ''))}\n`
}

function diffText({ subject, before, after, backward, forward }: SchemaDiff): string {
  if (before.version === after.version)
    return `Version ${after.version} of ${printable(subject)} was compared with itself. Name two versions.\n`
  const name = ({ version, id }: SchemaDiff['before']) => `${printable(subject)} version ${version} (id ${id})`
  const difference = unifiedDiff(lines(before.pretty), lines(after.pretty), [name(before), name(after)])
  const texts = difference === '' ? 'The texts are equal.\n' : difference
  return `${texts}\n${directionText(after.version, before.version, backward)}${directionText(before.version, after.version, forward)}`
}

function directionText(reader: number, writer: number, { compatible, reasons }: SchemaDirection): string {
  if (compatible) return `Version ${reader} reads all that version ${writer} writes.\n`
  return `Version ${reader} does not read all that version ${writer} writes:\n${reasonLines(reasons)}`
}

export function reasonLines(reasons: readonly SchemaReason[]): string {
  return reasons
    .map(({ path, description }) => `  ${printable(placeInWords(path))}: ${printable(description)}\n`)
    .join('')
}

function topicTable(rows: readonly JudgedTopic[]): string {
  const cells = ({ topic, key, value }: JudgedTopic) =>
    (['key', 'value'] as const).map(part => {
      const rule = { key, value }[part]
      return [topic, part, ruleText(rule), rule.subject ?? `of each record (${rule.strategy})`, rule.refused]
    })
  return table(['TOPIC', 'PART', 'JUDGED', 'SUBJECT', 'NOT VALID'], rows.flatMap(cells))
}

function ruleText({ judged, action, required }: SchemaPartRule): string {
  if (action === 'off') return 'never'
  if (!judged) return 'not yet'
  return `yes${action === 'count' ? ', only counted' : ''}${required ? ', also without a subject' : ''}`
}
