import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const environmentTypes = ['production', 'preview'] as const;
export const providers = ['build', 'static', 'webhook'] as const;
export const networks = ['full', 'install', 'none'] as const;
export const visibilities = ['public', 'members'] as const;

export type Provider = (typeof providers)[number];
export type Network = (typeof networks)[number];

/** A variable as it is stored: the value of a secret one is sealed. */
export interface StoredVariable {
  name: string;
  secret: boolean;
  available_in_install: boolean;
  /** A secret one is copied to draft previews. */
  available_in_drafts: boolean;
  value: string;
  /** Version of the environment the value was sealed at; absent where it is plain. */
  sealed_at?: number;
}

/** A named target that publishes one branch. */
export const Environment = defineEntity({
  name: 'Environment',
  tableName: 'environment',
  properties: {
    id: p.integer().primary().autoincrement(),
    uuid: p.uuid().unique(),
    project_id: p.integer(),
    name: p.text(),
    /** First part of its host on the preview origin. */
    slug: p.text(),
    branch: p.text(),
    type: p.text().$type<(typeof environmentTypes)[number]>(),
    provider: p.text().$type<Provider>(),
    /** Directory commands run in, relative to the repository; '' is its root. */
    root_directory: p.text(),
    install_command: p.text().nullable(),
    build_command: p.text().nullable(),
    /** What is published, relative to the root directory; '' is that directory itself. */
    output_directory: p.text(),
    variables: p.json<StoredVariable[]>(),
    network: p.text().$type<Network>(),
    timeout_seconds: p.integer(),
    auto_deploy: p.boolean(),
    cancel_superseded: p.boolean(),
    visibility: p.text().$type<(typeof visibilities)[number]>(),
    protected: p.boolean(),
    /** Where the site is, when something else serves it. */
    url: p.text().nullable(),
    deploy_webhook_url: p.text().nullable(),
    /** Sealed: what notifications to external providers are signed with. */
    deploy_hook_secret: p.text().nullable(),
    /** The head that `auto_deploy` has taken last: moved in the transaction that queues its deployment. */
    followed_sha: p.text().nullable(),
    /** Null: nothing is published. */
    published_deployment_id: p.integer().nullable(),
    /** Draft previews are copies of it: one environment of a project at most. */
    draft_source: p.boolean().default(false),
    /** Of a draft preview: when it was last requested. Null: it is none. */
    previewed_at: p.datetime(3).nullable(),
    version: p.integer(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
  },
  uniques: [{ properties: ['project_id', 'name'] }, { properties: ['project_id', 'slug'] }],
});
export type Environment = InferEntity<typeof Environment>;
