# `cpack -G DEB` in the build directory: the Debian package weir, of the program, its services and their settings.
# They may hold passwords.
install(FILES deploy/debian/relay.env deploy/debian/gate.env DESTINATION /etc/weir COMPONENT debian EXCLUDE_FROM_ALL
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
set(maintainer "the weir authors <weir@example.org>")
# DEB_REVISION=1~deb13.trixie in the environment makes the package of that Debian revision. It is read at packing, so that
# what is built need not be configured again for each. A package with a revision has its changelog under another name.
install(CODE "
  set(version ${PROJECT_VERSION})
  set(changelog changelog)
  if(NOT \"\$ENV{DEB_REVISION}\" STREQUAL \"\")
    string(APPEND version -\$ENV{DEB_REVISION})
    set(changelog changelog.Debian)
  endif()
  string(TIMESTAMP now \"%a, %d %b %Y %H:%M:%S +0000\" UTC)
  file(WRITE ${PROJECT_BINARY_DIR}/\${changelog} \"weir (\${version}) stable; urgency=medium

  * Version ${PROJECT_VERSION}.

 -- ${maintainer}  \${now}
\")
  execute_process(COMMAND gzip -9n INPUT_FILE ${PROJECT_BINARY_DIR}/\${changelog}
                  OUTPUT_FILE ${PROJECT_BINARY_DIR}/\${changelog}.gz COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL ${PROJECT_BINARY_DIR}/\${changelog}.gz DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR})
" COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT debian EXCLUDE_FROM_ALL)

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # the program alone is built for it
set(CPACK_COMPONENTS_ALL program debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)  # for /etc
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_PACKAGE_NAME weir)
set(CPACK_DEBIAN_PACKAGE_RELEASE "\$ENV{DEB_REVISION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Nostr relay that stays responsive under load, and quotas of LLMs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "\
A relay on RocksDB or PostgreSQL that lets bulk work wait before the engine
has to brake, and a gate that answers for quotas of LLM models, limits by key
and Envoy's rate limits.")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, tzdata")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
foreach(file conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/deploy/debian/${file})
endforeach()
include(CPack)

# weir_portable: the program of the release's tarball (deploy/release), which finds its shared libraries in ../lib. It is the
# objects of weir, linked again. An RPATH holds for what the libraries need as well; a RUNPATH, which is the linker's
# default, would not. The program is not fully static: libpq and the Kerberos and LDAP that it needs have no usable static
# archives in Debian, and glibc looks up names of hosts and users (NSS) by shared libraries of the system that it runs on.
add_executable(weir_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:weir>)
get_target_property(libraries_of_weir weir LINK_LIBRARIES)
target_link_libraries(weir_portable PRIVATE ${libraries_of_weir} -Wl,--disable-new-dtags)
set_target_properties(weir_portable PROPERTIES LINKER_LANGUAGE CXX BUILD_RPATH "$ORIGIN/../lib")
