# What `cmake --install` puts under its prefix: the program, and for each exported library the archive, its headers and
# a target file of its own, so that a user of one room need not have the dependencies of another. Without WEIR_PROGRAM, only
# the libraries that throttle a RocksDB.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(weir_pkg_config)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

set(components config monitors_core monitors throttle rocksdb_throttle)
if(TARGET weir_c)
  list(APPEND components c)
  install(FILES throttle/c/weir.h throttle/c/weir_rocksdb.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(WEIR_PROGRAM)
  # What these link has no CMake configuration: strangers link it by its name, which weirConfig.cmake looks for.
  install(TARGETS weir_hiredis EXPORT weir-redis)
  install(TARGETS weir_mariadb EXPORT weir-mysql)
  install(TARGETS weir_re2 EXPORT weir-keyed)
  install(TARGETS weir_absl_time EXPORT weir-quota)
  list(APPEND components config_yaml http postgres postgres_monitor mysql myrocks_monitor neo4j_monitor redis by_name descriptors keyed keyed_redis
                         queued quota quota_yaml quota_sqlite quota_redis quota_stores)
endif()
foreach(component IN LISTS components)
  install(TARGETS weir_${component} EXPORT weir-${component})
  install(EXPORT weir-${component} NAMESPACE weir:: DESTINATION ${config_dir} FILE weir-${component}.cmake)
endforeach()

# The headers that strangers may include, and after "with" those that these include and nobody else should. All others
# are private.
set(headers
    config/clock config/manual_clock config/settings config/settings_format config/status
      # with
      config/birth_process config/bound config/mutex config/text/parse
    monitors/latency_window monitors/load_monitor monitors/load_probe monitors/load_sample monitors/memory_only_monitor
    monitors/memory_probe monitors/memory_target monitors/rocksdb_monitor monitors/rocksdb_options monitors/rocksdb_version
      # with
      monitors/lsm_counters monitors/lsm_geometry monitors/own_bytes monitors/rocksdb_counters monitors/rocksdb_listener
    throttle/adaptive_limiter throttle/admission throttle/await_admission throttle/limiter_settings throttle/pid_controller
    throttle/rocksdb/rocksdb_throttle throttle/rocksdb/throttled_db throttle/rocksdb/throttled_marks
    throttle/rocksdb/throttled_transaction_db
      # with
      throttle/rocksdb/throttled_asker throttle/rocksdb/throttled_transaction throttle/rocksdb/throttled_writes
      throttle/fair_queue throttle/fair_turns throttle/flow_counter throttle/flush_relief throttle/gate throttle/held_limits throttle/lasting throttle/memory_buyback throttle/rate_law
      throttle/scan_gate throttle/thread_batches throttle/thread_slot throttle/token_bucket throttle/write_gate)
if(WEIR_PROGRAM)
  list(APPEND headers
      config/yaml_reader
        # with
        config/text/name_hash config/text/url config/wire/http/http_connection config/wire/mysql/mysql_url
      monitors/myrocks/myrocks_monitor monitors/neo4j/neo4j_monitor monitors/postgres/postgres_monitor
        # with
        monitors/neo4j/neo4j_session
      throttle/limits/descriptors/descriptor_limiter throttle/limits/descriptors/descriptor_rules throttle/limits/descriptors/limit_unit
      throttle/limits/keyed/keyed_limiter throttle/limits/keyed/keyed_limits throttle/limits/keyed/shared_windows
      throttle/limits/keyed/redis/redis_shared_windows
      throttle/limits/queued/endpoint_config throttle/limits/queued/queued_events throttle/limits/queued/queued_limiter
        # with
        throttle/limits/by_name/page throttle/limits/by_name/window_kind throttle/limits/keyed/name_room throttle/limits/keyed/shared_lease config/wire/redis/redis_client_options config/wire/redis/redis_url
      throttle/limits/quota/calendar throttle/limits/quota/limit throttle/limits/quota/memory_store throttle/limits/quota/migrate
      throttle/limits/quota/model_patterns throttle/limits/quota/name_map
      throttle/limits/quota/naming_shares throttle/limits/quota/open_store throttle/limits/quota/profiles throttle/limits/quota/quota
      throttle/limits/quota/reservation_id
      throttle/limits/quota/quota_config throttle/limits/quota/quota_config_reader throttle/limits/quota/quota_decision throttle/limits/quota/quota_limiter throttle/limits/quota/quota_store throttle/limits/quota/tier_rules
      throttle/limits/quota/yaml_store throttle/limits/quota/sqlite/sqlite_store throttle/limits/quota/redis/redis_store)
endif()
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir/${folder})
endforeach()

if(WEIR_PROGRAM)
  # What a package takes, which has no use for the libraries. Where systemd looks under a prefix of /usr or /usr/local.
  install(TARGETS weir COMPONENT program)
  install(FILES deploy/weir-relay.service deploy/weir-gate.service DESTINATION lib/systemd/system COMPONENT program)
  install(FILES deploy/grafana/weir.json deploy/prometheus/weir.rules.yml relay/store/postgres/partitions.sql
          DESTINATION ${CMAKE_INSTALL_DATADIR}/weir COMPONENT program)
  # The program tells its man pages and how it is completed, when it is installed.
  install(CODE "execute_process(COMMAND ${PROJECT_SOURCE_DIR}/.cmake/shared-files $<TARGET_FILE:weir>
                                        ${PROJECT_BINARY_DIR}/shared COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/shared/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
endif()

configure_package_config_file(.cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${config_dir})
