import { Arg, Args, Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import { deleteMedia, listMedia } from '../../../domain/studio/media/media.operations.ts';
import { uploadMedia } from '../../../domain/studio/media/upload-media.operations.ts';
import type { GraphqlContext, ListArguments } from '../../context.ts';
import { argsOf, connectionOf, inputOf, outputOf } from '../../types/operations.ts';
import { Command } from '../command.ts';
import { ProjectArgs } from '../places.ts';
import { Studio, type StudioParent } from './studio.types.ts';

const MediaConnection = connectionOf(listMedia);
const ListMediaArgs = argsOf(listMedia);
const UploadedMedia = outputOf(uploadMedia);
const DeletedMedia = outputOf(deleteMedia);
const UploadMediaInput = inputOf(uploadMedia);
const DeleteMediaInput = inputOf(deleteMedia);

@Resolver(() => Studio)
export class MediaResolver {
  @FieldResolver(() => MediaConnection, { nullable: true, description: listMedia.summary })
  media(@Root() { at }: StudioParent, @Args(() => ListMediaArgs) args: ListArguments, @Ctx() context: GraphqlContext) {
    return context.list(listMedia, { ...at, ...args });
  }

  @Command(() => UploadedMedia, uploadMedia)
  uploadMedia(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => UploadMediaInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(uploadMedia, { ...at, ...input });
  }

  @Command(() => DeletedMedia, deleteMedia)
  deleteMedia(
    @Args(() => ProjectArgs) at: ProjectArgs,
    @Arg('input', () => DeleteMediaInput) input: object,
    @Ctx() context: GraphqlContext,
  ) {
    return context.run(deleteMedia, { ...at, ...input });
  }
}
