import { z } from 'zod';
import { changeOf, oneLine, openAddressOf, timestamp, webUrl, withoutNul } from '../../../kernel/shapes.ts';
import { deploymentSummary } from '../deployments/deployments.schema.ts';
import { pathProblem } from '../path-rules.ts';
import { environmentTypes, networks, providers, visibilities } from './environment.entity.ts';

export const maxEnvironments = 100;
/** Characters of a name. */
export const longestName = 100;

const minTimeout = 60;
const maxTimeout = 3_600;

/** A directory below another: '' or '.' is that one itself. */
const directory = z
  .string()
  .transform((text) => text.replace(/^\.\/|(?<!\/)\/+$/g, '').replace(/^\.$/, ''))
  .superRefine((path, context) => {
    const problem = path === '' ? null : pathProblem(path);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  });

const command = z
  .string()
  .trim()
  .max(4_000, 'must be at most 4000 characters')
  .regex(withoutNul, 'must not contain NUL')
  .transform((text) => (text === '' ? null : text))
  .nullable();

/** No name of what a command gets from the server whatever an environment says. */
const notOwn = /^(?!(?:PATH|HOME|TMPDIR)$|PORTICO_)/;

const variable = z
  .object({
    name: z
      .string()
      .max(200, 'must be at most 200 characters')
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _, not beginning with a digit')
      .regex(notOwn, 'is set by the build itself, as PATH, HOME, TMPDIR and PORTICO_… are'),
    value: z
      .string()
      .max(32_768, 'must be at most 32768 characters')
      .regex(withoutNul, 'must not contain NUL')
      .optional()
      .describe('Without it a variable that is there keeps its value'),
    secret: z.boolean().default(true).describe('Never shown again, and masked in logs'),
    available_in_install: z.boolean().default(false).describe('Given to the install command too'),
    available_in_drafts: z
      .boolean()
      .default(false)
      .describe(
        'A secret one is given to builds of draft previews, too. They run what is in the draft, so everybody with edit_studio can read it that ' +
          'way: set it only for secrets that all editors may know, never for those of production. Plain variables are always copied',
      ),
  })
  .meta({ id: 'EnvironmentVariableDraft' });

const environmentType = z.enum(environmentTypes).meta({ id: 'EnvironmentType' });
const provider = z.enum(providers).meta({ id: 'EnvironmentProvider' });
const network = z.enum(networks).meta({ id: 'EnvironmentNetwork' });
const visibility = z.enum(visibilities).meta({ id: 'EnvironmentVisibility' });

/** What a caller may set; every field optional here. */
const settable = {
  name: oneLine(longestName).describe('Unique in the project, also where case is ignored'),
  branch: z.string(),
  type: environmentType,
  provider,
  root_directory: directory.describe('Where commands run, relative to the repository'),
  install_command: command,
  build_command: command,
  output_directory: directory.describe('What is published, relative to root_directory'),
  variables: z
    .array(variable)
    .max(100, 'must be at most 100')
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must not name a variable twice')
    .describe('Each name once'),
  network: network.describe('Commands that may reach the network, where builds have a network of their own'),
  timeout_seconds: z
    .int()
    .min(minTimeout, `must be at least ${minTimeout}`)
    .max(maxTimeout, `must be at most ${maxTimeout}`),
  auto_deploy: z.boolean().describe('Deploy every commit that comes to the branch'),
  cancel_superseded: z.boolean().describe('A newer commit ends a running deployment, not only a waiting one'),
  visibility,
  protected: z.boolean().describe('Refuses deletion'),
  url: webUrl.nullable().describe('Where the site is, when an external provider publishes it'),
  deploy_webhook_url: webUrl
    .regex(openAddressOf('https?'), 'must hold no user name or password, since calls with them are refused')
    .nullable()
    .describe('Where an external provider is notified of deployments'),
};

const draft = z.object(settable).partial();

export const environmentDraft = draft.extend({
  name: settable.name,
  branch: settable.branch,
  deploy: z.boolean().optional().describe('Deploy the head of the branch at once; default: what auto_deploy is'),
});

export const environmentNumber = { environment: z.int32().min(1, 'must be at least 1') };

// An empty number must not take a site down.
export const environmentChange = changeOf(
  {
    ...draft.shape,
    ...environmentNumber,
    published_deployment_id: z
      .int32()
      .min(1, 'must be at least 1')
      .nullable()
      .optional()
      .describe('Publishes another finished deployment of this environment at once; null takes the site down'),
  },
  ['published_deployment_id'],
);

const environmentVariable = z
  .object({
    name: z.string(),
    secret: z.boolean(),
    available_in_install: z.boolean(),
    available_in_drafts: z.boolean().describe('A secret one is given to builds of draft previews, too'),
    value: z.string().nullable().describe('Null when it is secret'),
  })
  .meta({ id: 'EnvironmentVariable' });

export const environment = z
  .object({
    id: z.int32(),
    name: z.string(),
    slug: z.string(),
    branch: z.string(),
    type: environmentType,
    provider,
    root_directory: z.string(),
    install_command: z.string().nullable(),
    build_command: z.string().nullable(),
    output_directory: z.string(),
    variables: z.array(environmentVariable),
    network,
    timeout_seconds: z.int32(),
    auto_deploy: z.boolean(),
    cancel_superseded: z.boolean(),
    visibility,
    protected: z.boolean(),
    draft_preview: z
      .boolean()
      .describe('A copy made for a draft: it cannot be changed, and goes with its branch or after 14 days without use'),
    url: z.string().nullable().describe('Where the site is'),
    deploy_webhook_url: z.string().nullable(),
    published_deployment_id: z.int32().nullable(),
    latest_deployment: deploymentSummary.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Environment' });

/** An environment without its variables. */
export const environmentSummary = environment.omit({ variables: true });

export const savedEnvironment = environment
  .extend({
    deploy_hook_secret: z
      .string()
      .nullable()
      .describe('What notifications to deploy_webhook_url are signed with; shown only when it is made'),
  })
  .meta({ id: 'SavedEnvironment' });
