// Changes the schema registry on the command line: checks and registers schemas, sets levels and modes, and deletes.
// The text of a schema comes from the standard input.

import type { ProblemBody } from '../../api/problem.ts'
import { likelierType } from '../../api/schema-words.ts'
import type {
  CheckedSchema,
  NewSchema,
  RegisteredSchema,
  SchemaCheck,
  SchemaDeletion,
  SchemaLevelChange,
  SchemaModeChange,
  ShownSchemaLevel,
  ShownSchemaMode,
} from '../../api/schemas.ts'
import { SCHEMA_LEVELS, SCHEMA_MODES, SCHEMA_TYPES } from '../../api/words.ts'
import { printable, printableLines } from '../../base/printable.ts'
import { type Call, type Command, confirm, type Option, segment, wordOption, YES } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { counted, list, table } from '../table.ts'
import { reasonLines, SCHEMAS, subjectPath, topicPart } from './schemas.ts'

/** The API takes 512 KiB. More than this is not read, so that a wrong file does not fill the memory. */
const MOST_INPUT_BYTES = 1 << 20

/** Of more versions, the first and the last are named. */
const MOST_NAMED = 10

const TEXT_OPTIONS: Readonly<Record<string, Option>> = {
  type: { value: 'type', doc: `The format: ${SCHEMA_TYPES.join(', ')}; AVRO by default.` },
  reference: {
    value: 'name=subject:version',
    doc: 'A version that the schema refers to, and the name by which it does.',
    isMany: true,
  },
  normalize: {
    value: null,
    doc: 'Brings the schema into a form in which schemas with the same meaning are the same text.',
  },
}

export const schemaChangeCommands: readonly Command[] = [
  {
    name: 'schemas check',
    doc: 'Checks whether the schema of the standard input is valid and fits a subject, and names every version that it does not fit. Nothing is stored. The exit status is 1 if it does not fit.',
    args: [{ name: 'subject' }],
    options: {
      ...TEXT_OPTIONS,
      level: { value: 'level', doc: `Another level than the one in force: ${SCHEMA_LEVELS.join(', ')}.` },
    },
    async run(call) {
      const level =
        call.option('level') === undefined ? {} : { level: wordOption(call, 'level', SCHEMA_LEVELS, 'NONE') }
      const body: SchemaCheck = { ...(await schemaOf(call)), ...level }
      const found = await call.api.post<CheckedSchema>(`${subjectPath(call.args[0]!)}/check`, body)
      call.show(found, () => checkText(found, typeHint(body)))
      return found.valid && found.compatible ? EXIT.OK : EXIT.REFUSED
    },
  },
  {
    name: 'schemas register',
    doc: 'Registers the schema of the standard input as a version of a subject. If a version has it already, nothing is added.',
    args: [{ name: 'subject' }],
    options: TEXT_OPTIONS,
    async run(call) {
      const body: NewSchema = await schemaOf(call)
      const path = `${subjectPath(call.args[0]!)}/versions`
      const made = await call.api.post<RegisteredSchema>(path, body).catch(error => {
        throw withHint(error, typeHint(body))
      })
      call.show(
        made,
        () => `${printable(made.subject)} has the schema as version ${made.version}, with the id ${made.id}.\n`,
      )
      return EXIT.OK
    },
  },
  {
    name: 'schemas level',
    doc: 'Shows or sets the level of compatibility of a subject, or without a subject the global one.',
    args: [{ name: 'subject', isOptional: true }],
    options: {
      set: { value: 'level', doc: `Sets the level: ${SCHEMA_LEVELS.join(', ')}.` },
      reset: { value: null, doc: 'Removes the level: the next one is in force, global or default.' },
    },
    async run(call) {
      const path = `${scopePath(call)}/level`
      const level = wordOption(call, 'set', SCHEMA_LEVELS, 'NONE')
      const found = await settingOf<ShownSchemaLevel>(call, path, { level } satisfies SchemaLevelChange)
      call.show(found, () => settingText(found.subject, 'level', found.level, found.origin, found.fallback))
      return EXIT.OK
    },
  },
  {
    name: 'schemas mode',
    doc: 'Shows or sets the mode of a subject, or without a subject the global one. READONLY refuses changes; IMPORT takes schemas with the ids of another registry.',
    args: [{ name: 'subject', isOptional: true }],
    options: {
      set: { value: 'mode', doc: `Sets the mode: ${SCHEMA_MODES.join(', ')}.` },
      reset: { value: null, doc: 'Removes the mode: the next one is in force, global or default.' },
      force: { value: null, doc: 'Sets IMPORT although there are versions.' },
    },
    async run(call) {
      const path = `${scopePath(call)}/mode`
      const mode = wordOption(call, 'set', SCHEMA_MODES, 'READWRITE')
      if (call.has('force') && (call.option('set') === undefined || mode !== 'IMPORT'))
        throw new CommandFailed(EXIT.USAGE, '--force goes with --set=IMPORT')
      const found = await settingOf<ShownSchemaMode>(call, path, {
        mode,
        force: call.has('force'),
      } satisfies SchemaModeChange)
      call.show(found, () => settingText(found.subject, 'mode', found.mode, found.origin, found.fallback))
      return EXIT.OK
    },
  },
  {
    name: 'schemas delete',
    doc: 'Deletes a subject, or one of its versions: a number, or latest. Clients no longer see it, and --permanent removes it afterwards. It shows referrers and topics first, and asks.',
    args: [{ name: 'subject' }, { name: 'version', isOptional: true }],
    options: {
      permanent: { value: null, doc: 'Removes what was deleted before. Records that name its id can still be read.' },
      'dry-run': { value: null, doc: 'Only shows what would be deleted.' },
      yes: YES,
    },
    async run(call) {
      const [subject, version] = call.args
      const path =
        version === undefined ? subjectPath(subject!) : `${subjectPath(subject!)}/versions/${segment(version)}`
      const permanent = call.has('permanent')
      const preview = await call.api.delete<SchemaDeletion>(path, { permanent, dryRun: true })
      if (call.has('dry-run')) {
        call.show(preview, () => deletionText(preview))
        return EXIT.OK
      }
      if (preview.referrers.length === 0) {
        if (!call.isJson) call.terminal.err(deletionText(preview))
        const what = `${counted(preview.versions.length, 'version')} of ${printable(subject!)}`
        if (!(await confirm(call, `${permanent ? 'Remove' : 'Delete'} ${what}?`))) return EXIT.OK
      }
      const done = await call.api.delete<SchemaDeletion>(path, { permanent })
      call.show(
        done,
        () =>
          `${versionsOf(done)} of ${printable(subject!)} ${done.versions.length === 1 ? 'is' : 'are'} ${permanent ? 'removed' : 'deleted'}.\n`,
      )
      return EXIT.OK
    },
  },
]

async function schemaOf(call: Call): Promise<NewSchema> {
  const type = wordOption(call, 'type', SCHEMA_TYPES, 'AVRO')
  const references = call.options('reference').map(referenceOf)
  // A question for the password comes before the input is read.
  await call.api.signIn()
  return { type, schema: await inputText(call), references, normalize: call.has('normalize') }
}

function referenceOf(text: string): NonNullable<NewSchema['references']>[number] {
  const [, name, subject, version] = /^(.+)=(.+):([1-9]\d{0,9})$/.exec(text) ?? []
  if (name === undefined || subject === undefined)
    throw new CommandFailed(
      EXIT.USAGE,
      `--reference: got ${JSON.stringify(text)}, takes <name>=<subject>:<version>, with a version from 1`,
    )
  return { name, subject, version: Number(version) }
}

async function inputText({ terminal }: Call): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of terminal.input()) {
    bytes += part.length
    if (bytes > MOST_INPUT_BYTES)
      throw new CommandFailed(
        EXIT.USAGE,
        'the schema of the standard input has more than 1 MiB; at most 512 KiB are taken',
      )
    parts.push(part)
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
  } catch (error) {
    throw new CommandFailed(EXIT.USAGE, 'the schema of the standard input is not UTF-8', { cause: error })
  }
  if (text.trim() === '')
    throw new CommandFailed(
      EXIT.USAGE,
      'the standard input is empty; it takes the text of a schema, for example < order.avsc',
    )
  return text
}

/** Returns the option that a text of another type needs; an empty text if none is likelier. */
function typeHint({ schema, type = 'AVRO' }: NewSchema): string {
  const likelier = likelierType(schema, type)
  return likelier === null ? '' : `The text looks like ${likelier}: try --type=${likelier.toLowerCase()}.`
}

/** Adds the hint to the refusal of a schema that is not valid. */
function withHint(error: unknown, hint: string): unknown {
  if (hint === '' || !(error instanceof CommandFailed)) return error
  const { status, message, problem, cause } = error
  if ((problem as ProblemBody | null)?.code !== 'INVALID_SCHEMA') return error
  return new CommandFailed(status, `${message}\n${hint}`, { problem, cause })
}

function checkText(found: CheckedSchema, hint: string): string {
  const { subject, valid, compatible, trouble, level, compared, failing, existing, nextVersion } = found
  const said = trouble === null ? '' : `${printableLines(trouble)}\n`
  if (!valid) return hint === '' ? said : `${said}${hint}\n`
  const name = printable(subject)
  if (!compatible)
    return `${said}${failing.map(({ version, reasons }) => `The schema does not fit version ${version} of ${name} (level ${level}):\n${reasonLines(reasons)}`).join('')}`
  if (existing !== null)
    return `${said}${name} has this schema already, as version ${existing.version} with the id ${existing.id}.\n`
  const fits =
    compared.length === 0
      ? `The schema is valid. It was compared with no version (level ${level}).`
      : `The schema fits ${counted(compared.length, 'version')} of ${name} (level ${level}).`
  return `${said}${fits} It would be version ${nextVersion}.\n`
}

/** The subject of the arguments, or all subjects. */
function scopePath({ args: [subject] }: Call): string {
  return subject === undefined ? SCHEMAS : subjectPath(subject)
}

async function settingOf<Shown>(call: Call, path: string, change: object): Promise<Shown> {
  const isSet = call.option('set') !== undefined
  if (isSet && call.has('reset')) throw new CommandFailed(EXIT.USAGE, '--set and --reset exclude each other')
  if (isSet) return await call.api.put<Shown>(path, change)
  return call.has('reset') ? await call.api.delete<Shown>(path) : await call.api.get<Shown>(path)
}

function settingText(subject: string | null, what: string, value: string, origin: string, fallback: string): string {
  const isOwn = origin === (subject === null ? 'global' : 'subject')
  const from = { subject: 'set for the subject', global: 'the global one', default: 'the default' }[origin]
  return list([
    ['subject', subject ?? 'all without one of their own'],
    [what, value],
    ['origin', from],
    // Without one of its own, the value in force is the one that it would have.
    ...(isOwn ? [[`${what} without it`, fallback] as const] : []),
  ])
}

function versionsOf({ versions }: SchemaDeletion): string {
  if (versions.length > MOST_NAMED) return `${versions.length} versions (from ${versions[0]} to ${versions.at(-1)})`
  return `${versions.length === 1 ? 'Version' : 'Versions'} ${versions.join(', ')}`
}

function deletionText(found: SchemaDeletion): string {
  const { subject, permanent, referrers, topics, endsJudging } = found
  const head = `${versionsOf(found)} of ${printable(subject)} would be ${permanent ? 'removed' : 'deleted'}.\n`
  const sentence = (said: string, some: SchemaDeletion['topics']) =>
    endsJudging && some.length > 0 ? `${said}: ${some.map(each => printable(topicPart(each))).join(', ')}.\n` : ''
  const judged =
    sentence(
      'These records would no longer be judged',
      topics.filter(({ required }) => !required),
    ) +
    sentence(
      'These records would all be refused, because their topic demands a schema',
      topics.filter(({ required, action }) => required && action === 'reject'),
    )
  if (referrers.length === 0) return `${head}${judged}`
  const rows = referrers.map(each => [
    each.subject,
    each.version,
    each.id,
    each.refersTo,
    each.deleted ? 'deleted' : '',
  ])
  return `${head}${judged}The deletion is refused while other schemas refer to it:\n${table(['SUBJECT', 'VERSION', 'ID', 'REFERS TO', 'NOTE'], rows)}`
}
