// Tools that change the schema registry: register a schema, and set a level of compatibility. The rules are in admin/
// and in the registry.

import { z } from 'zod'
import { declined } from '../../admin/declined.ts'
import { checkSchema, misfitInWords, registerSchema } from '../../admin/schemas/changes.ts'
import { inWords, withRegistry } from '../../admin/schemas/in-words.ts'
import { changeLevel, previewLevel } from '../../admin/schemas/settings.ts'
import { type CheckedSchema, levelChangeShape, newSchemaShape, schemaSubjectParams } from '../../api/schemas.ts'
import { digestOf } from '../digest.ts'
import { firstRows } from '../first-rows.ts'
import { changing, isRefused, type ToolDeclined } from '../tool.ts'

const subjectArgument = schemaSubjectParams.shape.subject
const MOST_REASONS = 10

export const schemaChangeTools = [
  changing({
    name: 'register_schema',
    title: 'Register a schema',
    description:
      'Adds a version with this schema to a subject of the schema registry. If a version has the schema already, that one is answered and nothing is added. ' +
      'The preview shows the version, and with which versions the schema was compared. A schema that does not fit is refused with the reasons.',
    input: z.strictObject({ subject: subjectArgument, ...newSchemaShape.shape }),
    audited: ['subject', 'type'],
    isDestructive: false,
    changes: {
      async preview({ subject, ...text }, rooms, { caller }) {
        const its = withRegistry(rooms, caller)
        if (isRefused(its)) return its as ToolDeclined
        const checked = await checkSchema(its.registry, subject, text)
        if ('kind' in checked) return inWords(checked, { subject })
        const refusal = objectionTo(checked)
        if (refusal !== null) return refusal
        const { type, level, mode, compared, existing, nextVersion } = checked
        const version = existing?.version ?? nextVersion
        return {
          shown: {
            change: existing === null ? 'register schema' : 'none: a version has this schema already',
            ...{ subject, type, level, comparedWithVersions: firstRows(compared) },
            version,
            id: existing?.id ?? null,
          },
          state: digestOf({ existing, version, type, level, mode, compared }),
          pins: { version },
        }
      },
      async apply({ subject, ...text }, pins, rooms, { caller }) {
        const its = withRegistry(rooms, caller)
        if (isRefused(its)) return its as ToolDeclined
        const { version } = registerPins.parse(pins)
        const made = await registerSchema(its.registry, subject, { ...text, version })
        if ('kind' in made) return made.kind === 'refused' ? inWords(made, { subject }) : made
        return { body: { registered: { subject, version: made.version, id: made.id, guid: made.guid } } }
      },
    },
  }),

  changing({
    name: 'set_compatibility',
    title: 'Set compatibility level',
    description:
      'Sets the level of compatibility of one subject of the schema registry, or of all subjects without a level of their own. ' +
      'The preview shows the level before and after, and the subjects for which another level comes into force.',
    input: z.strictObject({
      subject: subjectArgument
        .nullable()
        .meta({ description: 'The name of a subject; null for all subjects without a level of their own.' }),
      level: levelChangeShape.shape.level
        .nullable()
        .meta({ description: 'null takes the level back: the global one, or the default, is in force then.' }),
    }),
    audited: ['subject', 'level'],
    isDestructive: false,
    changes: {
      async preview({ subject, level }, rooms, { caller }) {
        const its = withRegistry(rooms, caller)
        if (isRefused(its)) return its as ToolDeclined
        const found = await previewLevel(its.registry, subject, level)
        if ('kind' in found) return inWords(found, { subject })
        const { ownLevel, before, after, changed } = found
        return {
          shown: {
            change: subject === null ? 'set global compatibility level' : 'set compatibility level of subject',
            subject,
            before: { level: before.level, origin: before.origin },
            after: { level: after.level, origin: after.origin },
            otherLevelFor: firstRows(changed),
          },
          state: digestOf({ ownLevel, before, after, changed }),
          pins: { ownLevel },
        }
      },
      async apply({ subject, level }, pins, rooms, { caller }) {
        const its = withRegistry(rooms, caller)
        if (isRefused(its)) return its as ToolDeclined
        const changed = await changeLevel(its.registry, subject, level, levelPins.parse(pins))
        if ('kind' in changed) return changed.kind === 'refused' ? inWords(changed, { subject }) : changed
        return { body: { changed } }
      },
    },
  }),
]

const registerPins = z.strictObject({ version: z.int() })
const levelPins = z.strictObject({ ownLevel: levelChangeShape.shape.level.nullable() })

/** Returns why the registry would not take the schema, with the reasons by version; null if it would. */
function objectionTo(checked: CheckedSchema): ToolDeclined | null {
  const { valid, trouble, existing, compatible, failing } = checked
  if (!valid) return declined('INVALID_SCHEMA', trouble!, { schema: trouble! })
  if (trouble !== null) return declined('CONFLICT', trouble)
  // Compatibility does not count for a schema that is there.
  if (compatible || existing !== null) return null
  const fields = failing.slice(0, MOST_REASONS).map(({ version, reasons }) => {
    const texts = reasons.slice(0, MOST_REASONS).map(({ path, description }) => `${path}: ${description}`)
    return [`version ${version}`, texts.join('; ')] as const
  })
  return declined('INCOMPATIBLE_SCHEMA', misfitInWords(checked)!, Object.fromEntries(fields))
}
