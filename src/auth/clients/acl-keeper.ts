// Keeps the rules of all principals in memory, as immutable snapshots that follow the store, and changes the rules of
// a principal. On Redis the rules are one hash that other programs write too (docs/reference/redis-keys.md). The hash
// has no version, so each look reads all of it, but parses only documents that are new or changed.
//
// Unreadable rules of a principal grant nothing. If the whole hash cannot be read, no rule counts.

import { coalesce } from '../../base/coalesce.ts'
import { cut } from '../../base/cut.ts'
import { workInTurn } from '../../base/in-turn.ts'
import { changeDocument, type DocumentRooms } from '../../store/document-keeper.ts'
import { type Document, isStoreFailure, UnreadableDocument } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import { type Grant, grantsOf, KIND, rowOf, sortGrants } from './acl-rules.ts'

export interface Acls {
  /** The grants by principal, in order of the principals. The same map object until a rule changes. */
  readonly grants: ReadonlyMap<string, readonly Grant[]>
  /** By principal, why the stored rules cannot be read. */
  readonly unreadable: ReadonlyMap<string, UnreadableDocument>
}

export interface AclKeeper {
  current(): Acls
  /**
   * Calls `decide` for the new grants of the principal (null: no change), and calls it again if another writer was
   * faster. Resolves when the snapshot has the change; with false if nothing was changed. Throws what the store
   * throws, UnreadableDocument, or StoreContended.
   */
  change(principal: string, decide: (grants: readonly Grant[]) => readonly Grant[] | null): Promise<boolean>
  /**
   * Loads the changes that other brokers made until now. It costs nothing if no other broker can write. Throws what the
   * store throws, or UnreadableDocument.
   */
  catchUp(): Promise<void>
  /**
   * Resolves with the grants that these principals have now, by principal. One without rules, or whose rules cannot be
   * read, has no entry. It asks the store about few principals alone, and catches up for many. Throws what catchUp()
   * throws.
   */
  find(principals: readonly string[]): Promise<Acls['grants']>
}

/** From this number of principals on, reading the rules of all costs less. */
const MANY_PRINCIPALS = 20

export interface AclKeeperRooms extends DocumentRooms {
  /** True if other brokers or programs can write the rules too. */
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
}

/** The rules of one principal as they were read. */
interface Kept {
  readonly version: number
  readonly grants: readonly Grant[] | UnreadableDocument
}

/** Opens the keeper and reads all rules. Throws what the store throws. Unreadable rules do not prevent the start. */
export async function openAclKeeper({
  isShared,
  unreadable: tell = UNNAMED,
  ...rooms
}: AclKeeperRooms): Promise<AclKeeper> {
  const { store } = rooms
  let kept: ReadonlyMap<string, Kept> = new Map()
  let acls = aclsOf(kept)
  /** True while the snapshot may differ from the store. */
  let isStale = true
  /** Looks and changes run one after the other, so that an older look does not undo a newer change. */
  const inTurn = workInTurn()

  function adopt(next: ReadonlyMap<string, Kept>): void {
    const isSame = next.size === kept.size && [...next].every(([name, each]) => kept.get(name) === each)
    kept = next
    if (!isSame) acls = aclsOf(next)
  }

  function read({ name, version, fields }: Document): Kept {
    const known = kept.get(name)
    if (known !== undefined && known.version === version) return known
    try {
      return { version, grants: grantsOf(name, fields) }
    } catch (why) {
      if (!(why instanceof UnreadableDocument)) throw why
      tell({ kind: KIND, what: `the rules of ${JSON.stringify(cut(name))}`, why, result: 'they count for nothing' })
      return { version, grants: why }
    }
  }

  async function refresh(): Promise<void> {
    let documents: readonly Document[]
    try {
      documents = await store.list(KIND)
    } catch (why) {
      if (why instanceof UnreadableDocument) {
        tell({ kind: KIND, what: 'the rules of all principals', why, result: 'no rule counts until they are repaired' })
        isStale = true
        adopt(new Map())
      }
      throw why
    }
    adopt(new Map(documents.map(document => [document.name, read(document)])))
    isStale = false
  }

  async function load(principal: string): Promise<readonly (readonly [string, readonly Grant[]])[]> {
    const document = await store.load(KIND, principal)
    const grants = document === null ? [] : read(document).grants
    return grants instanceof UnreadableDocument ? [] : [[principal, grants]]
  }

  const catchUp = coalesce(() =>
    inTurn(async () => {
      if (isStale || isShared) await refresh()
    }),
  )

  await catchUp().catch(error => {
    if (!(error instanceof UnreadableDocument)) throw error
  })

  return {
    current: () => acls,
    catchUp,
    async find(principals) {
      if (isShared && principals.length < MANY_PRINCIPALS)
        return new Map((await Promise.all(principals.map(load))).flat())
      await catchUp()
      return acls.grants
    },
    change: (principal, decide) =>
      inTurn(async () => {
        const place = { kind: KIND, name: principal, what: 'the list of rules of a principal' }
        let isWritten = false
        try {
          return await changeDocument(rooms, place, now => {
            const grants = decide(now === null ? [] : grantsOf(principal, now.fields))
            if (grants === null) return { answer: false }
            isWritten = true
            if (grants.length === 0) return { answer: true, write: { remove: true } }
            return { answer: true, write: { changes: [rowOf(sortGrants(grants))] } }
          })
        } finally {
          isStale ||= isWritten
          if (isWritten) await refresh().catch(leaveToNextLook)
        }
      }),
  }
}

/**
 * Ignores a failure of the store while the snapshot is refreshed, because the next look refreshes it. A change that
 * failed throws its own error.
 */
function leaveToNextLook(error: unknown): void {
  if (!isStoreFailure(error)) throw error
}

function aclsOf(kept: ReadonlyMap<string, Kept>): Acls {
  const grants = new Map<string, readonly Grant[]>()
  const unreadable = new Map<string, UnreadableDocument>()
  for (const [name, { grants: read }] of [...kept].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (read instanceof UnreadableDocument) unreadable.set(name, read)
    else grants.set(name, read)
  }
  return Object.freeze({ grants, unreadable })
}
