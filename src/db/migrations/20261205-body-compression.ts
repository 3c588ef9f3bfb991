import { Migration } from '@mikro-orm/migrations';

/** Small bodies come as they are: LZ4 costs next to nothing. A server built without it keeps them whole. */
export class BodyCompression extends Migration {
  override name = '20261205-body-compression';

  override up(): void {
    this.addSql(`
      do $$ begin
        alter table delivery alter column body set compression lz4;
        alter table delivery alter column body set storage extended;
      exception when feature_not_supported then null;
      end $$`);
  }
}
