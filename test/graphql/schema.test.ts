import { readFileSync } from 'node:fs';
import { buildSchema, GraphQLEnumType, GraphQLObjectType, getNamedType, validateSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildGraphqlSchema, schemaText } from '../../src/graphql/schema.ts';

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(buildGraphqlSchema())).toEqual([]);
    expect(() => buildSchema(schemaText())).not.toThrow();
  });

  it('is the one committed as schema.graphql; `npm run emit` writes it', () => {
    expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(schemaText());
  });

  it('has snake_case fields and camelCase root fields', () => {
    const roots = ['Query', 'Mutation', 'Subscription'];
    for (const type of Object.values(buildGraphqlSchema().getTypeMap())) {
      if (type.name.startsWith('__') || !('getFields' in type)) continue;
      const pattern = roots.includes(type.name) ? /^[a-z][a-zA-Z0-9]*$/ : /^[a-z][a-z0-9_]*$/;
      for (const [name, field] of Object.entries(type.getFields())) {
        expect(name).toMatch(pattern);
        for (const arg of 'args' in field ? field.args : []) expect(arg.name).toMatch(/^[a-z][a-z0-9_]*$/);
      }
    }
  });

  it('has one enum for a set of values, but for the imports of different things', () => {
    const names = new Map<string, string[]>();
    for (const type of Object.values(buildGraphqlSchema().getTypeMap())) {
      if (!(type instanceof GraphQLEnumType) || type.name.startsWith('__')) continue;
      const values = type.getValues().map(({ name }) => name);
      const key = values.sort().join();
      names.set(key, [...(names.get(key) ?? []), type.name].sort());
    }
    const twins = [...names.values()].filter((all) => all.length > 1);
    expect(twins).toEqual([['RepositoryImportState', 'SnapshotImportState']]);
  });

  it('gives 32 bits to what is no size, duration, position, limit or id of rows without number', () => {
    const long: string[] = [];
    for (const type of Object.values(buildGraphqlSchema().getTypeMap())) {
      if (type.name.startsWith('__') || !('getFields' in type)) continue;
      for (const field of Object.values(type.getFields()))
        for (const each of [field, ...('args' in field ? field.args : [])])
          if (String(getNamedType(each.type)) === 'Long') long.push(`${type.name}.${field.name} ${each.name}`);
    }
    const names = [...new Set(long.map((each) => each.split(' ')[1]))].sort();
    expect(names).toEqual([
      'bytes',
      'bytes_stored',
      'bytes_wire',
      'crawl_bytes',
      'crawl_max_html',
      'duration_ms',
      'id',
      'next_offset',
      'offset',
      'raw_size',
      'seq',
      'size',
    ]);
    expect(long.filter((each) => each.endsWith(' id'))).toEqual(['CrawlerPage.id id']);
  });

  it('leads from the id of a record to the record', () => {
    const links: Record<string, string> = {
      base_id: 'base',
      crawler_config_id: 'crawler',
      crawler_id: 'crawler',
      crawler_last_run_id: 'last_run',
      crawler_uuid: 'crawler',
      deployment_id: 'deployment',
      execution_id: 'execution',
      'RetriedDeadLetter.execution_id': 'retry',
      project_id: 'project',
      published_deployment_id: 'published',
      published_snapshot_id: 'published_snapshot',
      run_id: 'run',
      schedule_id: 'schedule',
      snapshot_id: 'snapshot',
      workflow_id: 'workflow',
      'Execution.delivery_id': 'delivery',
      'ExecutionSummary.delivery_id': 'delivery',
    };
    const without: string[] = [];
    for (const type of Object.values(buildGraphqlSchema().getTypeMap())) {
      if (!(type instanceof GraphQLObjectType) || type.name.startsWith('__')) continue;
      const fields = type.getFields();
      for (const name of Object.keys(fields).filter((each) => /_(id|uuid)$/.test(each) && each !== 'node_id')) {
        const link = links[`${type.name}.${name}`] ?? links[name];
        if (!link || !(getNamedType(fields[link]?.type) instanceof GraphQLObjectType))
          without.push(`${type.name}.${name}`);
      }
    }
    // Accounts are read by an administrator only, and as a list. Names of requests, jobs, events and a sender's calls, and of a subject of any kind.
    expect(without.sort()).toEqual([
      'AuditEntry.request_id',
      'AuditEntry.subject_id',
      'CrawlerRun.task_id',
      'InvitedMember.user_id',
      'Member.user_id',
      'NotificationDelivery.event_id',
      'WorkflowDelivery.delivery_id',
      'WorkflowDeliverySummary.delivery_id',
    ]);
  });

  it('gives mutations their place and one input, except those whose operation takes nothing but a place', () => {
    // GraphQL has no input types without fields.
    const placeOnly = ['deleteProject', 'removeRemote', 'signOut', 'endOtherSessions'];
    for (const { name, args } of Object.values(buildGraphqlSchema().getMutationType()?.getFields() ?? {})) {
      const besides = args.map((arg) => arg.name).filter((arg) => arg !== 'organization' && arg !== 'project');
      expect({ name, besides }).toEqual({ name, besides: placeOnly.includes(name) ? [] : ['input'] });
    }
  });
});
