// Tools that change topics: create, alter, grow and delete a topic, delete its oldest records, and produce records. The
// rules are in admin/.

import { z } from 'zod'
import { declined } from '../../admin/declined.ts'
import { listGroupPage } from '../../admin/groups/shown-groups.ts'
import { previewRecords, produceRecords } from '../../admin/records/produce.ts'
import {
  alterTopicConfigs,
  createTopic,
  deleteOldestRecords,
  growTopic,
  previewDeletion,
  previewGrowth,
  previewTopicConfigs,
} from '../../admin/topic-changes.ts'
import { describeTopic } from '../../admin/topic-listing.ts'
import { deleteTopics } from '../../admin/topics.ts'
import { newMessagesShape } from '../../api/messages.ts'
import { configChangeShape, newPartitionsShape, newTopicShape, recordDeletionShape } from '../../api/topics.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { topicArgument } from '../arguments.ts'
import { digestOf } from '../digest.ts'
import { firstRows } from '../first-rows.ts'
import { changing, isRefused } from '../tool.ts'

/** The time in ms that the store has to make a change. */
const TIMEOUT_MS = 20_000
/** The most groups in a preview, and of those that it depends on. */
const SHOWN_GROUPS = 50
const MOST_GROUPS = 1_000

const topicId = z.string()
const offsetShape = recordDeletionShape.shape.offsets
const { partitions, replicationFactor, configs } = newTopicShape.shape

export const topicChangeTools = [
  changing({
    name: 'create_topic',
    title: 'Create a topic',
    description:
      'Creates a topic. The preview shows its partitions, its replication factor, and the configs that it would have from the call or from the settings of the broker.',
    input: z.strictObject({
      topic: topicArgument,
      partitions,
      replicationFactor,
      configs: configs.meta({ description: 'The values of configs by their names, such as retention.ms, as text.' }),
    }),
    audited: ['topic', 'partitions', 'replicationFactor', 'configs'],
    isDestructive: false,
    changes: {
      async preview({ topic: name, ...asked }, rooms) {
        const checked = await createTopic(rooms, { name, ...asked, validateOnly: true })
        if ('kind' in checked) return checked
        const all = checked.configs.map(config => ({ name: config.name, value: config.value, source: config.source }))
        const topic = { name, partitions: checked.partitions, replicationFactor: checked.replicationFactor }
        return {
          shown: {
            change: 'create topic',
            topic,
            configs: all.filter(({ source }) => source !== 'default'),
            otherConfigs: 'the defaults',
          },
          // Brokers may have different settings, and each of them may be the one that creates it.
          state: digestOf({ topic, all }),
          pins: { partitions: topic.partitions, replicationFactor: topic.replicationFactor },
        }
      },
      async apply({ topic: name, configs: overrides }, pins, rooms) {
        const pinned = createPins.parse(pins)
        const created = await createTopic(rooms, { name, ...pinned, configs: overrides })
        if ('kind' in created) return created
        const { id, partitions: count, replicationFactor: factor } = created
        return { body: { created: { name, id, partitions: count, replicationFactor: factor } } }
      },
    },
  }),

  changing({
    name: 'alter_topic',
    title: 'Alter topic configs',
    description:
      'Sets configs of a topic and takes others back to their setting or default, all of them or none. Other configs stay. ' +
      'The preview shows the value of each named config before and after. A shorter retention makes the broker delete records.',
    input: z.strictObject({
      topic: topicArgument,
      set: configChangeShape.shape.set.meta({ description: 'The new values, by the names of the configs.' }),
      delete: configChangeShape.shape.delete,
    }),
    audited: ['topic', 'set', 'delete'],
    isDestructive: true,
    changes: {
      async preview({ topic: name, ...asked }, rooms) {
        if (Object.keys(asked.set ?? {}).length + (asked.delete ?? []).length === 0)
          return declined('INVALID_ARGUMENTS', 'The call names no config.', { set: 'names no config' })
        const altered = await previewTopicConfigs(rooms, name, asked)
        if (isRefused(altered)) return altered
        const { topic, configs: rows } = altered
        const { id, configs: own } = topic
        return {
          shown: { change: 'alter configs of topic', topic: { name, id }, configs: rows },
          state: digestOf({ id, own, rows: rows.map(row => ({ ...row })) }),
          pins: { topicId: id, configs: own },
        }
      },
      async apply({ topic: name, ...asked }, pins, rooms) {
        const { topicId: id, configs: own } = alterPins.parse(pins)
        const altered = await alterTopicConfigs(rooms, name, asked, { id, configs: own })
        if ('kind' in altered) return altered
        const named = new Set([...Object.keys(asked.set ?? {}), ...(asked.delete ?? [])])
        const rows = altered.configs.filter(config => named.has(config.name))
        return {
          body: {
            altered: { name, id },
            configs: rows.map(config => ({ name: config.name, value: config.value, source: config.source })),
          },
        }
      },
    },
  }),

  changing({
    name: 'add_partitions',
    title: 'Add partitions',
    description:
      'Gives a topic more partitions. They cannot be taken away again, and new records with a key may go to another partition than older ones with this key.',
    input: z.strictObject({ topic: topicArgument, count: newPartitionsShape.shape.count }),
    audited: ['topic', 'count'],
    isDestructive: true,
    changes: {
      async preview({ topic: name, count }, rooms) {
        const topic = await previewGrowth(rooms, name, { count })
        if (isRefused(topic)) return topic
        const { id, partitions: before } = topic
        return {
          shown: { change: 'add partitions', topic: { name, id }, partitions: { before, after: count } },
          state: digestOf({ id, before }),
          pins: { topicId: id, before },
        }
      },
      async apply({ topic: name, count }, pins, rooms) {
        const { topicId: id, before } = growthPins.parse(pins)
        const grown = await growTopic(rooms, name, { count }, { id, partitions: before })
        return 'kind' in grown ? grown : { body: { grown: { name, id, partitions: grown.partitions } } }
      },
    },
  }),

  changing({
    name: 'delete_topic',
    title: 'Delete a topic',
    description:
      'Deletes a topic with all its records. The preview shows its id, its partitions, its records and bytes, and the groups that read it.',
    input: z.strictObject({ topic: topicArgument }),
    audited: ['topic'],
    isDestructive: true,
    changes: {
      async preview({ topic: name }, rooms) {
        const topic = await describeTopic(rooms, name)
        if (isRefusal(topic)) return topic
        const { id, partitions, records, sizeBytes, lastWriteAt } = topic
        const page = { offset: 0, limit: MOST_GROUPS, sort: 'groupId', order: 'asc', q: '', state: '' } as const
        const readers = await listGroupPage(rooms, { ...page, topic: name })
        if ('kind' in readers) return readers
        const { groups, total, unavailableBrokers } = readers
        const shownGroups = groups.slice(0, SHOWN_GROUPS).map(({ groupId, state, members, topicLag }) => ({
          ...{ groupId, state, members, lag: topicLag?.totalLag ?? null },
        }))
        return {
          shown: {
            change: 'delete topic',
            topic: { name, id, partitions, records, sizeBytes, lastWriteAt },
            readBy: { total, groups: shownGroups, unavailableBrokers },
          },
          state: digestOf({ id, partitions, total, groups: groups.map(({ groupId }) => groupId) }),
          pins: { topicId: id },
        }
      },
      async apply({ topic }, pins, rooms) {
        const { topicId } = removalPins.parse(pins)
        const [outcome] = await deleteTopics(rooms, [{ name: null, topicId }], { timeoutMs: TIMEOUT_MS })
        const { result } = outcome!
        return isRefusal(result) ? result : { body: { deleted: { name: topic, id: topicId } } }
      },
    },
  }),

  changing({
    name: 'delete_records',
    title: 'Delete oldest records',
    description:
      'Deletes the oldest records of partitions of a topic, up to an offset or all. The preview shows the offsets and the number of records of each partition. ' +
      'Records that are written after the preview stay.',
    input: z.strictObject({ topic: topicArgument, offsets: offsetShape }),
    audited: ['topic', 'offsets'],
    isDestructive: true,
    changes: {
      async preview({ topic: name, offsets }, rooms) {
        const found = await previewDeletion(rooms, name, { offsets })
        if (isRefused(found)) return found
        const { id, resolved } = found.topic
        // Offsets that follow the clock do not count records.
        const counts = resolved.offsetSequenceBits === 0
        const rows = found.partitions.map(row => ({ ...row, records: counts ? row.before - row.start : null }))
        const records = counts ? rows.reduce((sum, row) => sum + row.records!, 0) : null
        return {
          shown: { change: 'delete records', topic: { name, id }, records, partitions: firstRows(rows) },
          // The ends move all the time, and so do the starts under retention. The pins say which records go.
          state: digestOf({ id }),
          pins: { topicId: id, offsets: rows.map(({ partition, before }) => [partition, before]) },
        }
      },
      async apply({ topic: name }, pins, rooms) {
        const { topicId: id, offsets } = deletionPins.parse(pins)
        const pinned = offsets.map(([partition, before]) => ({ partition, before }))
        const deleted = await deleteOldestRecords(rooms, name, { offsets: pinned }, { id })
        if ('kind' in deleted) return deleted
        const refused = deleted.partitions.filter(({ error }) => error !== null)
        return {
          body: {
            deletedFrom: { name, id },
            ...(refused.length > 0 && { refused: firstRows(refused) }),
            partitions: firstRows(
              deleted.partitions
                .filter(({ error }) => error === null)
                .map(({ partition, start }) => ({ partition, start })),
            ),
          },
        }
      },
    },
  }),

  changing({
    name: 'produce',
    title: 'Produce records',
    description:
      'Appends records to a topic, as a producer with acks=all does. They cannot be taken back. The preview shows the partition, the sizes and the schemas of each record, ' +
      'and not its contents. The rules of the topic for records count when the records are written.',
    input: z.strictObject({ topic: topicArgument, messages: newMessagesShape.shape.messages }),
    audited: ['topic'],
    isDestructive: true,
    changes: {
      async preview({ topic: name, messages }, rooms) {
        const found = await previewRecords(rooms, name, messages)
        if (isRefused(found)) return found
        const { expected, topic, records, batches } = found
        const { digest, partitions: places } = expected
        return {
          shown: {
            change: 'produce records',
            topic: { name, id: topic.id, partitions: topic.partitions },
            batches: firstRows(batches),
            records: firstRows(records),
          },
          // Any partition takes a record without a key, so the one of the first call is no part of the state.
          state: digestOf({ id: topic.id, partitions: topic.partitions, digest }),
          pins: { topic: { id: topic.id, partitions: topic.partitions }, partitions: places, digest },
        }
      },
      async apply({ topic: name, messages }, pins, rooms) {
        const expected = producePins.parse(pins)
        const produced = await produceRecords(rooms, name, messages, expected)
        if ('kind' in produced) return produced
        const refused = produced.messages.filter(({ error }) => error !== null)
        return {
          body: {
            producedTo: { name, id: expected.topic.id },
            ...(refused.length > 0 && { refused: firstRows(refused) }),
            records: firstRows(
              produced.messages
                .filter(({ error }) => error === null)
                .map(({ partition, offset, timestamp }) => ({ partition, offset, timestamp })),
            ),
          },
        }
      },
    },
  }),
]

/** A topic that was deleted and created again has another id. */
const removalPins = z.strictObject({ topicId })
const createPins = z.strictObject({ partitions: z.int(), replicationFactor: z.int() })
const alterPins = z.strictObject({ topicId, configs: z.record(z.string(), z.string()) })
const growthPins = z.strictObject({ topicId, before: z.int() })
const deletionPins = z.strictObject({ topicId, offsets: z.array(z.tuple([z.int(), z.int()])) })
const producePins = z.strictObject({
  topic: z.strictObject({ id: topicId, partitions: z.int() }),
  partitions: z.array(z.int()),
  digest: z.string(),
})
