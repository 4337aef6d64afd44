// Tools that read the schema registry: subjects, one schema, and a check before a registration.

import { z } from 'zod'
import { declined, isDeclined } from '../../admin/declined.ts'
import { checkSchema } from '../../admin/schemas/changes.ts'
import { inWords, type Named, withRegistry } from '../../admin/schemas/in-words.ts'
import { describeSubject, listSubjectPage, type SchemaRooms } from '../../admin/schemas/subjects.ts'
import { showId, showVersion } from '../../admin/schemas/versions.ts'
import { schemaCheckShape } from '../../api/schemas.ts'
import { DELETED_CHOICES, SUBJECT_SORTS } from '../../api/words.ts'
import { isRefusal, type RegistryRefusal } from '../../registry/refusals.ts'
import { limitArgument, orderArgument, schemaIdArgument, searchArgument, subjectArgument } from '../arguments.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { partOf } from '../long-text.ts'
import {
  type CallContext,
  cursorArgument,
  type McpRooms,
  maxBytesArgument,
  reading,
  type ToolAnswer,
  type ToolDeclined,
} from '../tool.ts'

const MOST_ROWS = 1_000

/** Runs a verb of the registry. A refusal is said in the words of the admin API, with the thing of the call. */
async function ask(
  rooms: McpRooms,
  { caller }: CallContext,
  named: Named,
  verb: (
    its: McpRooms & Pick<SchemaRooms, 'registry' | 'judge'>,
  ) => Promise<ToolAnswer | ToolDeclined | RegistryRefusal>,
): Promise<ToolAnswer | ToolDeclined> {
  const its = withRegistry(rooms, caller)
  if (isDeclined(its)) return its
  const found = await verb(its)
  return 'kind' in found && found.kind === 'refused' ? inWords(found, named) : (found as ToolAnswer | ToolDeclined)
}

export const schemaTools = [
  reading({
    name: 'list_schemas',
    title: 'List schemas',
    description:
      'Lists the subjects of the schema registry with their newest version, their level of compatibility, their mode and the topics whose records they judge. ' +
      'With `subject` it lists the versions of that one, the newest first.',
    input: z.strictObject({
      subject: subjectArgument.optional(),
      q: searchArgument,
      deleted: z
        .enum(DELETED_CHOICES)
        .default('hide')
        .meta({ description: 'Whether deleted subjects or versions are listed.' }),
      sort: z.enum(SUBJECT_SORTS).default('subject').meta({ description: 'For subjects.' }),
      order: orderArgument.meta({ description: 'For subjects.' }),
      limit: limitArgument(50, MOST_ROWS),
      cursor: cursorArgument,
    }),
    audited: ['subject', 'q', 'deleted', 'sort', 'order', 'limit'],
    async run({ subject, q, deleted, sort, order, limit, cursor }, rooms, call) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      return await ask(rooms, call, { subject: subject ?? null }, async its => {
        if (subject === undefined) {
          const body = await listSubjectPage(its, { q, deleted, sort, order, offset, limit })
          return { body, rows: offsetRows('subjects', offset, body.total) }
        }
        const body = await describeSubject(its, subject, { deleted, offset, limit })
        return isRefusal(body) ? body : { body, rows: offsetRows('versions', offset, body.total) }
      })
    },
  }),

  reading({
    name: 'get_schema',
    title: 'Show a schema',
    description:
      'Shows a schema: a version of a subject, by default the latest, or the schema of an id. It has the text, the references in both directions, and who uses it. ' +
      'With `from` it shows only the text, from that character on: go on at `next` until that is null.',
    input: z.strictObject({
      subject: subjectArgument.optional(),
      version: z
        .union([z.int().min(1), z.literal('latest')])
        .optional()
        .meta({ description: 'A number, or latest. It needs subject.' }),
      id: schemaIdArgument.optional().meta({ description: 'The id of a schema, in place of subject and version.' }),
      from: z.int().min(0).optional(),
      maxBytes: maxBytesArgument,
    }),
    audited: ['subject', 'version', 'id', 'from'],
    async run({ subject, version, id, from, maxBytes }, rooms, call) {
      if ((subject === undefined) === (id === undefined) || (version !== undefined && subject === undefined))
        return ONE_SCHEMA
      const number = String(version ?? 'latest')
      const named = id === undefined ? { subject: subject!, version: number } : { id }
      return await ask(rooms, call, named, async ({ registry }) => {
        const found = await (id === undefined ? showVersion(registry, subject!, number) : showId(registry, id))
        if (isRefusal(found)) return found
        // The text in lines has the same words again.
        const { pretty: _, ...body } = found
        if (from === undefined) return { body }
        const { schema, id: itsId, type } = body
        if (from > schema.length) return declined('INVALID_ARGUMENTS', 'The text has no such character.', BEYOND)
        const facts = { id: itsId, type, characters: schema.length, from }
        return partOf(schema, from, maxBytes, (part, next) => ({ ...facts, next, schema: part }))
      })
    },
  }),

  reading({
    name: 'check_schema',
    title: 'Check a schema',
    description:
      'Says whether a schema is valid and fits the versions of its subject, with the reasons for each version that it does not fit. It registers nothing.',
    input: z.strictObject({ subject: subjectArgument, ...schemaCheckShape.shape }),
    audited: ['subject', 'type', 'level', 'normalize'],
    async run({ subject, ...text }, rooms, call) {
      return await ask(rooms, call, { subject }, async ({ registry }) => {
        const checked = await checkSchema(registry, subject, text)
        if (isRefusal(checked)) return checked
        // The caller has the text.
        const { pretty: _, ...body } = checked
        return { body }
      })
    },
  }),
]

const BEYOND = { from: 'is beyond the end' }
const ONE_SCHEMA = declined('INVALID_ARGUMENTS', 'Name either a subject, with a version or without, or an id.', {
  subject: 'or id is needed, not both',
})
