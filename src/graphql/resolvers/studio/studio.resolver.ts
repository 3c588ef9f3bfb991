import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { listCollections, listSchemas, refreshSchemas } from '../../../domain/studio/content/schemas.operations.ts';
import { listCommits } from '../../../domain/studio/repository/commits.operations.ts';
import { getFile, getFiletree } from '../../../domain/studio/repository/files.operations.ts';
import {
  getRepository,
  startImport,
  updateRepository,
} from '../../../domain/studio/repository/repository.operations.ts';
import { mapConnection } from '../../connection.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Project, type ProjectParent } from '../projects.resolver.ts';
import { type RefArgs, Studio, type StudioParent } from './studio.types.ts';

const Repository = outputOf(getRepository);
const RepositoryWithHook = outputOf(startImport);
const SchemaConnection = connectionOf(listSchemas);
const CollectionConnection = connectionOf(listCollections);
const CommitConnection = connectionOf(listCommits);
const File = outputOf(getFile);
const FileTree = outputOf(getFiletree);
const RefreshedSchemas = outputOf(refreshSchemas);
const ListSchemasArgs = argsOf(listSchemas);
const ListCollectionsArgs = argsOf(listCollections);
const ListCommitsArgs = argsOf(listCommits);
const GetFileArgs = argsOf(getFile, ['raw']);
const GetFiletreeArgs = argsOf(getFiletree);
const RefreshSchemasInput = inputOf(refreshSchemas);
const UpdateRepositoryInput = inputOf(updateRepository);
const ImportRepositoryInput = inputOf(startImport);

/** The edge from a project to its content. */
@Resolver(() => Project)
export class ProjectStudioResolver {
  @FieldResolver(() => Studio, { description: 'Its content' })
  studio(@Root() { at }: ProjectParent): StudioParent {
    return { at };
  }
}

@Resolver(() => Studio)
export class StudioResolver {
  @FieldResolver(() => Repository, { nullable: true, description: getRepository.summary })
  repository(@Root() { at }: StudioParent, @Ctx() context: GraphqlContext) {
    return context.run(getRepository, { ...at });
  }

  @FieldResolver(() => SchemaConnection, { nullable: true, description: listSchemas.summary })
  schemas(
    @Root() { at }: StudioParent,
    @Args(() => ListSchemasArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listSchemas, { ...at, ...args });
  }

  @FieldResolver(() => CollectionConnection, { nullable: true, description: listCollections.summary })
  async collections(
    @Root() { at }: StudioParent,
    @Args(() => ListCollectionsArgs) args: ListArguments & RefArgs,
    @Ctx() context: GraphqlContext,
  ) {
    const { branch, ref } = args;
    const page = await context.list(listCollections, { ...at, ...args });
    return mapConnection(page, (record) => ({ ...record, at: { ...at, branch, ref, collection: record.name } }));
  }

  @FieldResolver(() => CommitConnection, { nullable: true, description: listCommits.summary })
  commits(
    @Root() { at }: StudioParent,
    @Args(() => ListCommitsArgs) args: ListArguments,
    @Ctx() context: GraphqlContext,
  ) {
    return context.list(listCommits, { ...at, ...args });
  }

  @FieldResolver(() => File, { nullable: true, description: getFile.summary })
  file(@Root() { at }: StudioParent, @Args(() => GetFileArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(getFile, { ...at, ...args });
  }

  @FieldResolver(() => FileTree, { nullable: true, description: getFiletree.summary })
  filetree(@Root() { at }: StudioParent, @Args(() => GetFiletreeArgs) args: object, @Ctx() context: GraphqlContext) {
    return context.run(getFiletree, { ...at, ...args });
  }

  @Command(() => RefreshedSchemas, refreshSchemas)
  refreshSchemas(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => RefreshSchemasInput, { nullable: true }) input: object | null,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(refreshSchemas, { ...at, ...input });
  }

  @Command(() => Repository, updateRepository)
  updateRepository(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UpdateRepositoryInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(updateRepository, { ...at, ...input });
  }

  @Command(() => RepositoryWithHook, startImport)
  importRepository(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => ImportRepositoryInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(startImport, { ...at, ...input });
  }
}
