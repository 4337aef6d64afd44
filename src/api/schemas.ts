// The API schemas of the schema registry for operators: subjects, their versions, checks, levels, modes, and the topics
// whose records are judged. Clients of Kafka use Confluent's API instead (http/faces/schema-registry.ts).

import { z } from 'zod'
import { judgedPartShape, refused } from './judged-topics.ts'
import { pagingQuery } from './paging.ts'
import { integer } from './query.ts'
import { timeShape } from './time.ts'
import { DELETED_CHOICES, SCHEMA_LEVELS, SCHEMA_MODES, SCHEMA_ORIGINS, SCHEMA_TYPES, SUBJECT_SORTS } from './words.ts'

/** The largest body of a request with a schema: 512 KiB of text whose quotation marks are escaped, and references. */
export const SCHEMA_BODY_BYTES = (1_024 + 100) * 1_024
/** The most versions of a subject on one page, and the most subjects. */
const MOST_ROWS = 1_000
const MOST_REFERENCES = 100
const MOST_VERSION = 2 ** 31 - 1

const typeShape = z.enum(SCHEMA_TYPES)
const levelShape = z.enum(SCHEMA_LEVELS)
const modeShape = z.enum(SCHEMA_MODES)
const subjectName = z.string().min(1)
const version = z.int().meta({ description: 'From 1. The number of a deleted version is not used again.' })
const id = z.int().meta({ description: 'The id that records name. It belongs to one schema for ever.' })

const subjectFields = {
  subject: z.string(),
  type: typeShape.nullable().meta({ description: 'The format of the newest version; null without a version.' }),
  latestVersion: version.nullable().meta({ description: 'The newest version that is not deleted; null without one.' }),
  latestId: id.nullable().meta({ description: 'The id of the newest version that is not deleted.' }),
  versionCount: z.int().meta({ description: 'The number of versions that are not deleted.' }),
  deletedVersionCount: z.int().meta({
    description: 'The number of deleted versions: records may name them, and clients do not see them in lists.',
  }),
  registeredAt: timeShape.nullable().meta({ description: 'The time of the newest version, deleted or not.' }),
  level: levelShape.meta({ description: 'The level in force.' }),
  ownLevel: levelShape.nullable().meta({ description: 'Null if the global level is in force.' }),
  mode: modeShape.meta({ description: 'The mode in force.' }),
  ownMode: modeShape.nullable().meta({ description: 'Null if the global mode is in force.' }),
  deleted: z.boolean().meta({ description: 'True if the subject has versions, and all of them are deleted.' }),
  topics: z.array(judgedPartShape).meta({
    description:
      'The topics whose records this subject judges. A list has only those of which the subject has the name (TopicName).',
  }),
}

export const schemaSubjectShape = z.object(subjectFields).meta({ id: 'SchemaSubject' })

export type SchemaSubject = z.infer<typeof schemaSubjectShape>

export const schemaSubjectsQuery = pagingQuery(SUBJECT_SORTS).extend({
  deleted: z.enum(DELETED_CHOICES).default('hide').meta({ description: 'Whether deleted subjects are listed.' }),
})

export type SchemaSubjectsQuery = z.output<typeof schemaSubjectsQuery>

export const schemaSubjectsShape = z.object({
  subjects: z.array(schemaSubjectShape),
  total: z.int().meta({ description: 'The number of subjects on all pages.' }),
})

export type SchemaSubjects = z.infer<typeof schemaSubjectsShape>

export const schemaOverviewShape = z
  .object({
    subjects: z.int().meta({ description: 'The number of subjects with a version that is not deleted.' }),
    deletedSubjects: z.int(),
    versions: z.int().meta({ description: 'The number of versions that are not deleted.' }),
    highestId: z.int().meta({ description: 'The highest id that was given out; 0 without one.' }),
    level: levelShape.meta({ description: 'The global level.' }),
    mode: modeShape.meta({ description: 'The global mode.' }),
    judgedTopics: z.int().meta({ description: 'The number of topics whose keys or values are judged.' }),
    refused,
  })
  .meta({ id: 'SchemaOverview' })

export type SchemaOverview = z.infer<typeof schemaOverviewShape>

/** One version, by its place. */
const placeFields = { subject: z.string(), version, id }

const referenceShape = z
  .object({
    name: z.string().meta({
      description: 'The word in the text: the full name of an Avro type, the URI of a $ref, or the path of an import.',
    }),
    subject: z.string(),
    version,
  })
  .meta({ id: 'SchemaReference' })

export type SchemaReference = z.infer<typeof referenceShape>

const referrerShape = z
  .object({ ...placeFields, deleted: z.boolean() })
  .meta({ id: 'SchemaReferrer', description: 'A version that refers to this one.' })

export type SchemaReferrer = z.infer<typeof referrerShape>

const versionRowShape = z
  .object({
    version,
    id,
    guid: z.string(),
    deleted: z.boolean(),
    registeredAt: timeShape,
    references: z.array(z.object({ subject: z.string(), version })),
    referrerCount: z
      .int()
      .meta({ description: 'The number of versions that refer to this one, deleted ones included.' }),
  })
  .meta({ id: 'SchemaVersionRow' })

export type SchemaVersionRow = z.infer<typeof versionRowShape>

export const schemaSubjectParams = z.object({ subject: subjectName.meta({ description: 'The name of a subject.' }) })

export const schemaSubjectQuery = z.object({
  deleted: z.enum(DELETED_CHOICES).default('show').meta({ description: 'Whether deleted versions are listed.' }),
  offset: integer(0).default(0),
  limit: integer(1, MOST_ROWS).default(100),
})

export const describedSubjectShape = z
  .object({
    ...subjectFields,
    config: z.record(z.string(), z.unknown()).meta({
      description: 'The configuration of the subject itself as clients set it, with `compatibilityLevel`.',
    }),
    versions: z.array(versionRowShape).meta({ description: 'A page of the versions, the newest first.' }),
    total: z.int().meta({ description: 'The number of versions on all pages.' }),
  })
  .meta({ id: 'DescribedSchemaSubject' })

export type DescribedSchemaSubject = z.infer<typeof describedSubjectShape>

const versionParameter = z
  .string()
  .regex(/^([1-9][0-9]{0,9}|latest)$/, 'takes the number of a version, from 1, or latest')

export const schemaVersionParams = schemaSubjectParams.extend({
  version: versionParameter.meta({ description: 'A number from 1, or `latest`.', examples: ['latest'] }),
})

const textFields = {
  guid: z.string(),
  type: typeShape,
  schema: z.string().meta({ description: 'The text as it is stored.' }),
  pretty: z.string().meta({ description: 'The same text in lines, for people.' }),
  references: z.array(referenceShape).meta({ description: 'The versions to which this one refers directly.' }),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  ruleSet: z.record(z.string(), z.unknown()).nullable(),
}

export const schemaVersionShape = z
  .object({
    ...placeFields,
    ...textFields,
    deleted: z.boolean(),
    registeredAt: timeShape,
    referrers: z.array(referrerShape),
  })
  .meta({ id: 'SchemaVersion' })

export type SchemaVersion = z.infer<typeof schemaVersionShape>

export const schemaIdParams = z.object({
  id: integer(1, MOST_VERSION).meta({ description: 'The id of a schema.', examples: ['1'] }),
})

export const schemaByIdShape = z
  .object({
    id,
    ...textFields,
    usedBy: z.array(referrerShape.omit({ id: true })).meta({
      description: 'The versions that have this id. Empty if all were removed: records may still name the id.',
    }),
  })
  .meta({ id: 'SchemaById' })

export type SchemaById = z.infer<typeof schemaByIdShape>

const reasonShape = z
  .object({
    kind: z.string().meta({ description: "Confluent's word, such as READER_FIELD_MISSING_DEFAULT_VALUE." }),
    path: z.string().meta({
      description:
        'The place in the schema of the reader: `/fields/0/type` (Avro), `/properties/x` (JSON Schema), `/Message/1` with the number of the field (Protobuf), and `/` for the whole schema.',
    }),
    description: z.string().meta({ description: 'A sentence that names both sides.' }),
  })
  .meta({ id: 'SchemaReason', description: 'A reason why one schema cannot read all that another one writes.' })

export type SchemaReason = z.infer<typeof reasonShape>

export const schemaDiffQuery = z.object({
  against: versionParameter.optional().meta({
    description: 'The version to compare with; by default the one before, deleted or not.',
  }),
})

const sideShape = z
  .object({ version, id, type: typeShape, deleted: z.boolean(), registeredAt: timeShape, pretty: z.string() })
  .meta({ id: 'SchemaDiffSide' })

const directionShape = z
  .object({
    compatible: z.boolean(),
    reasons: z.array(reasonShape).meta({ description: 'At most 100. Empty if it is compatible.' }),
  })
  .meta({ id: 'SchemaDirection' })

export type SchemaDirection = z.infer<typeof directionShape>

export const schemaDiffShape = z
  .object({
    subject: z.string(),
    before: sideShape.meta({ description: 'The version of `against`.' }),
    after: sideShape.meta({ description: 'The version of the path.' }),
    level: levelShape.meta({ description: 'The level in force.' }),
    backward: directionShape.meta({ description: 'Whether `after` reads all that `before` writes.' }),
    forward: directionShape.meta({ description: 'Whether `before` reads all that `after` writes.' }),
  })
  .meta({ id: 'SchemaDiff' })

export type SchemaDiff = z.infer<typeof schemaDiffShape>

const requestFields = {
  type: typeShape.default('AVRO'),
  schema: z
    .string()
    .min(1)
    .meta({ description: 'The text: JSON, or .proto.', examples: ['"string"'] }),
  references: z
    .array(z.strictObject({ name: z.string().min(1), subject: subjectName, version: z.int().min(1).max(MOST_VERSION) }))
    .max(MOST_REFERENCES)
    .default([])
    .meta({ examples: [[]] }),
  normalize: z.boolean().default(false).meta({
    description: 'Brings the schema into a form in which schemas with the same meaning are the same text.',
  }),
}

export const newSchemaShape = z.strictObject(requestFields)

export type NewSchema = z.input<typeof newSchemaShape>

/** The version that has the schema after a registration. */
export type RegisteredSchema = SchemaVersion

export const schemaCheckShape = z.strictObject({
  ...requestFields,
  level: levelShape.optional().meta({ description: 'Another level to check with; by default the one in force.' }),
})

export type SchemaCheck = z.input<typeof schemaCheckShape>

const failingShape = z
  .object({
    version,
    id,
    type: typeShape,
    reasons: z.array(reasonShape).meta({ description: 'At most 100.' }),
  })
  .meta({ id: 'FailingSchemaVersion', description: 'A version that the schema does not fit.' })

export const checkedSchemaShape = z
  .object({
    subject: z.string(),
    valid: z.boolean().meta({ description: 'Whether the text is a schema of its format.' }),
    trouble: z.string().nullable().meta({
      description: 'A sentence that says why the schema is not valid, or why it could not be registered now.',
    }),
    compatible: z.boolean().meta({ description: 'Whether it fits all compared versions. False if it is not valid.' }),
    type: typeShape,
    level: levelShape.meta({ description: 'The level of the check.' }),
    mode: modeShape.meta({ description: 'The mode in force. Only READWRITE lets operators register.' }),
    compared: z.array(z.int()).meta({ description: 'The versions that it was compared with, the newest first.' }),
    failing: z.array(failingShape).meta({ description: 'The versions that it does not fit, the newest first.' }),
    existing: z
      .object({ version, id })
      .nullable()
      .meta({ description: 'The version that has this schema already; a registration would answer it.' }),
    nextVersion: version.meta({ description: 'The version that a registration would add.' }),
    pretty: z.string().nullable().meta({ description: 'The text as it would be stored, in lines; null if not valid.' }),
  })
  .meta({ id: 'CheckedSchema' })

export type CheckedSchema = z.infer<typeof checkedSchemaShape>

/** The level of all subjects, or of one. */
export const shownLevelShape = z
  .object({
    subject: z.string().nullable().meta({ description: 'Null for the global level.' }),
    level: levelShape.meta({ description: 'The level in force.' }),
    origin: z.enum(SCHEMA_ORIGINS),
    fallback: levelShape.meta({ description: 'The level that would be in force if this one were deleted.' }),
  })
  .meta({ id: 'ShownSchemaLevel' })

export type ShownSchemaLevel = z.infer<typeof shownLevelShape>

export const levelChangeShape = z.strictObject({ level: levelShape.meta({ examples: ['BACKWARD'] }) })

export type SchemaLevelChange = z.input<typeof levelChangeShape>

/** The mode of all subjects, or of one. */
export const shownModeShape = z
  .object({
    subject: z.string().nullable().meta({ description: 'Null for the global mode.' }),
    mode: modeShape.meta({ description: 'The mode in force.' }),
    origin: z.enum(SCHEMA_ORIGINS),
    fallback: modeShape.meta({ description: 'The mode that would be in force if this one were deleted.' }),
  })
  .meta({ id: 'ShownSchemaMode' })

export type ShownSchemaMode = z.infer<typeof shownModeShape>

export const modeChangeShape = z.strictObject({
  mode: modeShape,
  force: z.boolean().default(false).meta({ description: 'Sets IMPORT although there are versions.' }),
})

export type SchemaModeChange = z.input<typeof modeChangeShape>

const flag = z.enum(['true', 'false']).default('false')

export const schemaDeletionQuery = z.object({
  permanent: flag.meta({
    description: 'Removes what was deleted before. The ids stay resolvable, because records may name them.',
  }),
  dryRun: flag.meta({ description: 'Deletes nothing, and shows what a deletion would mean.' }),
})

export const schemaDeletionShape = z
  .object({
    subject: z.string(),
    applied: z.boolean().meta({ description: 'False for a dry run.' }),
    permanent: z.boolean(),
    versions: z.array(z.int()).meta({ description: 'The versions that are deleted, or would be.' }),
    referrers: z
      .array(referrerShape.extend({ refersTo: version }).meta({ id: 'SchemaDeletionReferrer' }))
      .meta({ description: 'The versions that refer to one of these. A deletion is refused while there are any.' }),
    topics: z.array(judgedPartShape).meta({ description: 'The topics whose records the subject judges.' }),
    endsJudging: z.boolean().meta({
      description:
        'True if the subject keeps no version that is not deleted: its records are then no longer judged, or all refused where they are `required`.',
    }),
  })
  .meta({ id: 'SchemaDeletion' })

export type SchemaDeletion = z.infer<typeof schemaDeletionShape>
