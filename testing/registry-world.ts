// Registries of several brokers on one store, with the toy format.

import { type Clock, systemClock } from '../src/base/clock.ts'
import { seededRandom } from '../src/base/random.ts'
import { isRefusal, type RegistryRefusal } from '../src/registry/refusals.ts'
import { openRegistry, type Registry, type RegistryRooms } from '../src/registry/registry.ts'
import type { Store } from '../src/store/store.ts'
import type { CleanUp } from './broker.ts'
import { toyWork } from './toy-format.ts'

export interface OpenedRegistry extends Registry {
  /** The sentences about documents that cannot be read. */
  readonly named: readonly string[]
}

let seed = 0

/** Opens the registry of one broker. It is closed with the test. */
export function openTestRegistry(
  cleanUp: CleanUp,
  store: Store,
  rooms: Partial<RegistryRooms> & { readonly clock?: Clock } = {},
): OpenedRegistry {
  const named: string[] = []
  const registry = openRegistry({
    store,
    clock: systemClock,
    random: seededRandom(++seed),
    isShared: true,
    unreadable: ({ what, why }) => void named.push(`${what}: ${why instanceof Error ? why.message : why}`),
    work: toyWork(),
    ...rooms,
  })
  cleanUp.after(() => registry.close())
  return { ...registry, named }
}

/** Returns the answer. Throws if it is a refusal. */
export function accepted<T>(answer: T | RegistryRefusal): Exclude<T, RegistryRefusal> {
  if (isRefusal(answer)) throw new Error(`refused with ${answer.code}: ${answer.message}`)
  return answer as Exclude<T, RegistryRefusal>
}

/** Returns the code of a refusal, with its message. */
export function refusedWith(answer: unknown): string {
  return isRefusal(answer) ? `${answer.code} ${answer.message}` : `not refused: ${JSON.stringify(answer)}`
}
