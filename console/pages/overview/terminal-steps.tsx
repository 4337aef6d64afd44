// The first minute in a terminal: the commands of each tool, with the advertised address and the security of a
// listener.

import { useState } from 'react'
import { Command } from '../../parts/copy.tsx'
import { SelectField } from '../../parts/field.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { PageLink } from '../../shell/address.tsx'
import { type CommandWay, useCommandWays } from '../../shell/command-access.ts'
import { useMay } from '../../shell/session.tsx'
import { needsSettings } from '../../text/client-properties.ts'
import { commandsFor, type Recipe, type Task, type Tool } from '../../text/commands.ts'
import { Step } from './step.tsx'

const TOOLS = ['ketch', 'kcat', "Kafka's tools"] as const satisfies readonly Tool[]

/** `ketch` shows records as they come; the clients of Kafka first show those that are there. */
const watchOf = (tool: Tool, topic: string): Task =>
  tool === 'ketch' ? { do: 'consume', topic } : { do: 'consume', topic, at: 'earliest' }

export function TerminalSteps({ topic, value }: { readonly topic: string; readonly value: string }) {
  const ways = useCommandWays()
  // A VIEWER may not create topics through the API, which `ketch` uses.
  const mayCreate = useMay('create topic')
  const tools = TOOLS.filter(tool => tool !== 'ketch' || mayCreate)
  const [chosenTool, setTool] = useState<(typeof TOOLS)[number]>()
  const [chosenWay, setWay] = useState<string>()
  const tool = chosenTool ?? tools[0]!
  if (ways === null) return <Skeleton rows={8} />

  const way = ways.find(({ name }) => name === chosenWay) ?? ways[0]
  if (way === undefined)
    return <p className="text-muted">This cluster has no listener for Kafka clients (svc.broker.enabled is false).</p>
  const { access } = way
  const recipeOf = (task: Task): Recipe | undefined => {
    const recipes = commandsFor(task, access)
    // kcat creates no topics, so that another tool does it.
    return recipes.find(each => each.tool === tool) ?? recipes.find(each => tools.some(other => other === each.tool))
  }
  const create = recipeOf({ do: 'create-topic', topic })
  const watch = recipeOf(watchOf(tool, topic))
  const produce = recipeOf({ do: 'produce', topic, value })
  const before = [create, watch].flatMap(recipe => recipe?.before ?? [])
  const files = new Map(before.flatMap(step => ('file' in step ? [[step.file.name, step.file]] : [])))
  return (
    <>
      <div className="mb-3">
        <Segments label="Tool" options={tools.map(each => [each, each] as const)} value={tool} onChange={setTool} />
      </div>
      {ways.length > 1 && (
        <SelectField
          label="Listener"
          value={way.name}
          onChange={setWay}
          options={ways.map(({ name, access: { security, bootstrap } }) => [
            name,
            `${name} · ${security} · ${bootstrap}`,
          ])}
        />
      )}
      {tool === 'ketch' && (
        <p className="text-muted">
          <code className="font-mono">ketch</code> is the file <code className="font-mono">./ketch</code> in the folder
          of the broker.{access.apiUser !== null && ' It asks for your password.'}
        </p>
      )}
      {tool !== 'ketch' && <Needs way={way} />}
      {Array.from(files.values(), file => (
        <Command key={file.name} label={`Write this to ${file.name}`} text={file.content} />
      ))}
      <ol className="mt-4">
        <Step number={1} title="Create a topic">
          {create !== undefined && create.tool !== tool && (
            <p className="text-muted">
              {tool} cannot create topics.{' '}
              {create.tool === 'ketch' ? <code className="font-mono">ketch</code> : create.tool} can:
            </p>
          )}
          <Line recipe={create} />
        </Step>
        <Step number={2} title="Watch it, and leave this running">
          <Line recipe={watch} />
        </Step>
        <Step number={3} title="Produce a record, in a second terminal">
          <Line recipe={produce} />
        </Step>
      </ol>
    </>
  )
}

function Line({ recipe }: { readonly recipe: Recipe | undefined }) {
  if (recipe === undefined) return null
  return recipe.command === null ? <p className="text-muted">{recipe.reason}</p> : <Command text={recipe.command} />
}

/** The things that a client needs for this listener besides the address. */
function Needs({ way: { access, needsCertificate } }: { readonly way: CommandWay }) {
  const isSasl = access.security.startsWith('SASL')
  if (!needsSettings(access)) return null
  return (
    <ul className="my-2 list-disc pl-5 text-muted">
      {access.security.endsWith('SSL') && (
        <li>
          <code className="font-mono">ca.pem</code> is the certificate of the authority that signed the one of the
          broker.
        </li>
      )}
      {isSasl && (
        <li>
          The listener asks for a user and a password: a{' '}
          <PageLink
            page="security"
            search={{ tab: 'credentials' }}
            className="text-accent underline underline-offset-2"
          >
            SASL credential
          </PageLink>
          {access.mechanism === null ? '.' : ` for ${access.mechanism}.`}
        </li>
      )}
      {needsCertificate && <li>The listener asks for a certificate of the client, which these files do not name.</li>}
    </ul>
  )
}
