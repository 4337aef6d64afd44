// The catalogue of a cluster with some topics, for code that only reads it.

import type { Catalogue, Topic } from '../src/log/catalogue.ts'
import { matchPattern } from '../src/settings/patterns.ts'
import { type Settings, testSettings } from '../src/settings/settings.ts'
import { resolveTopicConfigs } from '../src/settings/topic-configs.ts'

/** Returns a topic of one partition with these overrides. Its id is made of the name. */
export function topicOf(name: string, configs: Topic['configs'] = {}, settings: Settings = testSettings()): Topic {
  return {
    ...{ id: topicIdOf(name), name, partitions: 1, placement: { factor: 1, brokers: [], assigned: {} }, configs },
    ...{ pinned: {}, resolved: resolveTopicConfigs(configs, matchPattern(settings, name), settings), createdAtMs: 0 },
  }
}

/** Returns an id of 22 characters. */
export function topicIdOf(name: string): string {
  return name.padEnd(22, '-').slice(0, 22)
}

export function catalogueOf(topics: readonly Topic[]): Catalogue {
  return {
    ...{ clusterId: 'cluster', version: 1, unreadable: new Map() },
    topics: new Map(topics.map(topic => [topic.name, topic])),
    topicsById: new Map(topics.map(topic => [topic.id, topic])),
  }
}
