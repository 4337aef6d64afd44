// The facts about the schema registry in the health of a broker: whether it judges produced records, and how many were
// not valid. It asks no store.

import type { CatalogueKeeper } from '../../log/catalogue.ts'
import type { RegistryJudge } from '../../registry/judge/judge.ts'
import type { Settings } from '../../settings/settings.ts'

interface Rooms {
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly judge: Pick<RegistryJudge, 'judged'> | null
  readonly settings: Pick<Settings, 'get'>
}

/** The most topics that the health names. `ketch schemas topics` lists all. */
const MOST_NAMED = 10

/** Returns null without a schema registry. The numbers are those of this broker since it started. */
export function registryDetails({ catalogue, judge, settings }: Rooms): Readonly<Record<string, unknown>> | null {
  if (judge === null) return null
  const counted = [...catalogue.current().topics.values()].map(topic => {
    const { key, value } = judge.judged(topic)
    return { topic: topic.name, invalidRecords: key.refused + value.refused }
  })
  const troubled = counted
    .filter(({ invalidRecords }) => invalidRecords > 0)
    .sort((one, other) => other.invalidRecords - one.invalidRecords)
  return {
    validatesByDefault: settings.get('schema-registry.validate-produce'),
    invalidRecords: troubled.reduce((sum, { invalidRecords }) => sum + invalidRecords, 0),
    topicsWithInvalidRecords: troubled.slice(0, MOST_NAMED).map(({ topic }) => topic),
  }
}
