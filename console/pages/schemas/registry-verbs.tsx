// The verbs of the registry as a whole: a new schema, and the global level and mode.

import { FilePlus, Gauge, Lock, SearchCheck } from 'lucide-react'
import { useState } from 'react'
import type { SchemaOverview } from '../../../src/api/schemas.ts'
import { Action } from '../../parts/button.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

const RegisterSchema = lazyPart(async () => (await import('./register-schema.tsx')).RegisterSchema)
const LevelDialog = lazyPart(async () => (await import('./level-dialog.tsx')).LevelDialog)
const ModeDialog = lazyPart(async () => (await import('./mode-dialog.tsx')).ModeDialog)

type Verb = 'level' | 'mode'

export function RegistryVerbs({ registry }: { readonly registry: SchemaOverview | undefined }) {
  const { search, set } = useHere('schemas')
  const mayRegister = useMay('register schema')
  const [verb, setVerb] = useState<Verb | null>(null)
  const register = () => set({ register: true }, { isStep: true })
  const close = () => setVerb(null)
  return (
    <>
      {mayRegister ? (
        <Action operation="register schema" kind="primary" icon={FilePlus} onClick={register}>
          Register schema
        </Action>
      ) : (
        <Action operation="check schema" icon={SearchCheck} onClick={register}>
          Check schema
        </Action>
      )}
      {registry !== undefined && (
        <>
          <Action operation="set global schema level" icon={Gauge} onClick={() => setVerb('level')}>
            Global level
          </Action>
          <Action operation="set global schema mode" icon={Lock} onClick={() => setVerb('mode')}>
            Global mode
          </Action>
        </>
      )}
      {search.register && <RegisterSchema subject={null} onClose={() => set({ register: false })} />}
      {verb === 'level' && <LevelDialog subject={null} onClose={close} />}
      {verb === 'mode' && <ModeDialog subject={null} onClose={close} />}
    </>
  )
}
